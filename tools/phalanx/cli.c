/* Options of the commands: parsing them, and the help that comes from the same table. */
#include "cli.h"

#include <sys/stat.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cli_complain(int status, const char *command, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "phalanx %s: ", command);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return status;
}

static void print_help(const cli_command_line *line) {
    printf("usage: phalanx %s\n\n%s\n", line->synopsis, line->about);
    if (line->option_count > 0) printf("\noptions:\n");
    for (size_t i = 0; i < line->option_count; ++i) {
        const cli_option *option = &line->options[i];
        char left[64];
        snprintf(left, sizeof left, "%s%s%s", option->name, option->value_name != NULL ? " " : "",
                 option->value_name != NULL ? option->value_name : "");
        printf("  %-26s %s\n", left, option->help);
    }
    printf("  %-26s %s\n", "--help", "this text");
}

/* is an option's value, or that of its other name, among those that were given? */
static bool was_given(const cli_option *option, const cli_option *const *given, size_t count) {
    for (size_t i = 0; i < count; ++i)
        if (given[i]->value == option->value) return true;
    return false;
}

int cli_parse(cli_command_line *line, int argc, char **argv) {
    bool only_files = false;
    const cli_option *given[64];
    size_t given_count = 0;
    line->file_count = 0;
    for (int i = 1; i < argc; ++i) {
        const char *word = argv[i];
        if (!only_files && strcmp(word, "--") == 0) {
            only_files = true;
            continue;
        }
        if (only_files || word[0] != '-' || word[1] == 0) {
            if (line->file_count == line->file_most)
                return cli_complain(CLI_USAGE, argv[0], "'%s' is one argument too many; usage: phalanx %s", word, line->synopsis);
            line->files[line->file_count++] = word;
            continue;
        }
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            print_help(line);
            return CLI_DONE;
        }
        const char *equals = word[1] == '-' ? strchr(word, '=') : NULL;
        size_t length = equals != NULL ? (size_t)(equals - word) : strlen(word);
        const cli_option *option = NULL;
        for (size_t o = 0; o < line->option_count && option == NULL; ++o) {
            if (strlen(line->options[o].name) == length && strncmp(line->options[o].name, word, length) == 0) option = &line->options[o];
        }
        if (option == NULL)
            return cli_complain(CLI_USAGE, argv[0], "there is no option '%.*s'; `phalanx %s --help` lists them", (int)length, word,
                                argv[0]);
        if (option->value_name != NULL) {
            if (was_given(option, given, given_count))
                return cli_complain(CLI_USAGE, argv[0], "%s is given twice, and one of its values would be lost", option->name);
            if (given_count < sizeof given / sizeof *given) given[given_count++] = option;
        }
        if (option->value_name == NULL) {
            if (equals != NULL) return cli_complain(CLI_USAGE, argv[0], "%s takes no value", option->name);
            *option->flag = true;
        } else if (equals != NULL) {
            *option->value = equals + 1;
        } else if (i + 1 < argc) {
            *option->value = argv[++i];
        }
        if (option->value_name != NULL && (*option->value == NULL || (**option->value == 0 && strstr(option->value_name, "FILE") != NULL))) {
            return cli_complain(CLI_USAGE, argv[0], "%s needs a value: %s %s", option->name, option->name, option->value_name);
        }
    }
    if (line->file_count < line->file_least)
        return cli_complain(CLI_USAGE, argv[0], "an argument is missing; usage: phalanx %s", line->synopsis);
    return -1;
}

bool cli_number(const char *command, const char *option, const char *text, double least, double most, double *value) {
    double number = 0;
    if (text == NULL) return true;
    if (io_parse_number(text, &number) && number >= least && number <= most) {
        *value = number;
        return true;
    }
    cli_complain(CLI_USAGE, command, "%s: '%s' is no number from %g to %g", option, text, least, most);
    return false;
}

bool cli_count(const char *command, const char *option, const char *text, uint64_t least, uint64_t most, uint64_t *value) {
    if (text == NULL) return true;
    char *end = NULL;
    unsigned long long number = strtoull(text, &end, 10);
    if (*text >= '0' && *text <= '9' && *end == 0 && strlen(text) < 20 && number >= least && number <= most) {
        *value = number;
        return true;
    }
    cli_complain(CLI_USAGE, command, "%s: '%s' is no whole number from %llu to %llu", option, text, (unsigned long long)least,
                 (unsigned long long)most);
    return false;
}

bool cli_up(const char *command, const char *text, char *up) {
    if (text == NULL) return true;
    if (strlen(text) == 1 && strchr("yYzZ", text[0]) != NULL) {
        *up = text[0] == 'z' || text[0] == 'Z' ? 'z' : 'y';
        return true;
    }
    cli_complain(CLI_USAGE, command, "--up: '%s' is neither y nor z", text);
    return false;
}

static bool is_file(const cli_file *file) { return file->path != NULL && strcmp(file->path, "-") != 0; }

/* The folder that a path's last name is in; that name. */
static bool folder_of(const char *path, struct stat *folder, const char **name) {
    const char *slash = strrchr(path, '/');
    *name = slash != NULL ? slash + 1 : path;
    char *text = io_format_text("%.*s", slash == NULL ? 1 : slash == path ? 1 : (int)(slash - path), slash == NULL ? "." : path);
    const bool there = stat(text, folder) == 0;
    free(text);
    return there;
}

/* by what the names lead to where both exist, where neither does by folder and last name; devices such as /dev/null take any number */
static bool same_file(const char *a, const char *b) {
    struct stat one, other;
    const bool there = stat(a, &one) == 0, there_too = stat(b, &other) == 0;
    if ((there && !S_ISREG(one.st_mode)) || (there_too && !S_ISREG(other.st_mode))) return false;
    const char *name = "", *other_name = "";
    if (there != there_too) return false;
    if (!there && !(folder_of(a, &one, &name) && folder_of(b, &other, &other_name))) return strcmp(a, b) == 0;
    return one.st_dev == other.st_dev && one.st_ino == other.st_ino && strcmp(name, other_name) == 0;
}

bool cli_files_distinct(const char *command, const cli_file *files, size_t count) {
    for (size_t i = 0; i < count; ++i) /* only figures are asked for on standard output, where the option's help says so */
        if (files[i].written && files[i].path != NULL && !is_file(files + i) && strcmp(files[i].name, "--json") != 0) {
            cli_complain(CLI_USAGE, command, "%s: '-' is no file; name the file to write", files[i].name);
            return false;
        }
    for (size_t i = 0; i < count; ++i)
        for (size_t k = i + 1; k < count; ++k) {
            if (!(files[i].written || files[k].written) || !is_file(files + i) || !is_file(files + k)) continue;
            if (!same_file(files[i].path, files[k].path)) continue;
            cli_complain(CLI_USAGE, command, "%s and %s are both '%s', and one would be lost; give them different names", files[i].name,
                         files[k].name, files[k].path);
            return false;
        }
    return true;
}

bool cli_files_writable(const char *command, const cli_file *files, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        io_error error;
        if (!files[i].written || !is_file(files + i) || io_can_write(files[i].path, &error)) continue;
        cli_complain(CLI_INPUT, command, "%s: %s", files[i].name, error.text);
        return false;
    }
    return true;
}
