// What `phalanx bake` writes, read by others: Khronos' validator finds no errors, and three.js loads it, plays the baked clip, and finds
// every joint where the figures say that it walked. loads_elsewhere.mjs PHALANX BUILD_FOLDER [SHARED_FOLDER]; called by ctest.
// Exit status 77: skipped, with the reason on standard output.
import {execFileSync} from 'node:child_process';
import {cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import * as made from './made_character.mjs';

const [phalanx, build, shared] = process.argv.slice(2);
const packages = join(build, 'npm'), here = dirname(fileURLToPath(import.meta.url));

// ---- the packages: installed once, into the build folder
const wanted = readFileSync(join(here, 'package.json'), 'utf8');
const stamp = join(packages, 'installed.json');
if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
  mkdirSync(packages, {recursive: true});
  cpSync(join(here, 'package.json'), join(packages, 'package.json'));
  try {
    const quick = ['--no-audit', '--no-fund', '--no-package-lock', '--ignore-scripts', '--fetch-retries=1', '--fetch-timeout=60000'];
    execFileSync('npm', ['install', ...quick], {cwd: packages, stdio: 'pipe', timeout: 180000});
  } catch (error) {
    const said = String(error.stderr || error.message).split('\n').filter(Boolean);
    console.log(`skipped: npm could not install gltf-validator and three (${said[0]}); they are needed once, from the network`);
    process.exit(77);
  }
  writeFileSync(stamp, wanted);
}
const require = createRequire(join(packages, 'package.json'));
const validator = require('gltf-validator');
// GLTFLoader is written for browsers: pictures are not looked at here
globalThis.self = globalThis;
globalThis.createImageBitmap = async () => ({width: 1, height: 1, close() {}});
const three = await import(join(packages, 'node_modules/three/build/three.module.js'));
const {GLTFLoader} = await import(join(packages, 'node_modules/three/examples/jsm/loaders/GLTFLoader.js'));

// ---- checks
let failures = 0;
const check = (good, text) => {
  if (good) return;
  ++failures;
  console.log(`FAILED: ${text}`);
};
const finite = (array) => array.every(Number.isFinite);
const bytesOf = (file) => new Uint8Array(readFileSync(file));

async function errorsIn(file) {
  const {issues} = await validator.validateBytes(bytesOf(file), {maxIssues: 50});
  const worst = issues.messages.filter((m) => m.severity === 0).map((m) => `${m.pointer}: ${m.message}`);
  return {count: issues.numErrors, warnings: issues.numWarnings, text: worst.slice(0, 3).join('; ')};
}

function load(file) {
  const bytes = bytesOf(file);
  return new Promise((resolve, reject) => new GLTFLoader().parse(bytes.buffer, '', resolve, reject));
}

// One baked file. legs: [[hip, knee, ankle, ball], ...] by name; skinned: the source holds a mesh with a skin; below: how far a ball is
// under where the ground has it.
async function examine(name, file, figures, {legs, skinned, clipsBefore, below}) {
  const problems = await errorsIn(file);
  check(problems.count === 0, `${name}: the validator finds ${problems.count} errors: ${problems.text}`);
  const gltf = await load(file);
  const clip = gltf.animations.at(-1);
  check(gltf.animations.length === clipsBefore + 1, `${name}: ${gltf.animations.length} clips, of ${clipsBefore} before`);
  check(clip.name.includes(' on '), `${name}: the last clip is called '${clip.name}'`);
  const seconds = (figures.frames - 1) / figures.frame_rate;
  check(Math.abs(clip.duration - seconds) < 1e-3, `${name}: the clip lasts ${clip.duration} s, the figures say ${seconds}`);
  check(clip.tracks.length > 0, `${name}: no tracks`);
  const turned = new Set();
  for (const track of clip.tracks) {
    check(track.times.length > 0 && finite([...track.times]) && finite([...track.values]), `${name}: ${track.name} is not finite`);
    check(track.times.every((t, i) => i === 0 || t > track.times[i - 1]), `${name}: the times of ${track.name} do not rise`);
    if (!track.name.endsWith('.quaternion')) continue;
    turned.add(track.name.slice(0, track.name.lastIndexOf('.')));
    const length = (i) => Math.hypot(...track.values.slice(i, i + 4));
    for (let i = 0; i < track.values.length; i += 4) check(Math.abs(length(i) - 1) < 1e-5, `${name}: ${track.name} is not of length 1`);
  }
  const joint = (text) => gltf.scene.getObjectByName(three.PropertyBinding.sanitizeNodeName(text));
  const meshes = [];
  gltf.scene.traverse((o) => o.isSkinnedMesh && meshes.push(o));
  check(meshes.length > 0 === skinned, `${name}: ${meshes.length} skinned meshes`);
  for (const chain of legs) for (const text of chain.slice(0, 3)) {
    check(joint(text) !== undefined, `${name}: there is no joint ${text}`);
    check(turned.has(three.PropertyBinding.sanitizeNodeName(text)), `${name}: no rotations of ${text}`);
    for (const mesh of meshes) check(mesh.skeleton.bones.includes(joint(text)), `${name}: ${text} is not a bone of the mesh`);
  }
  // play it
  const mixer = new three.AnimationMixer(gltf.scene);
  const action = mixer.clipAction(clip);
  action.setLoop(three.LoopOnce, 1);
  action.clampWhenFinished = true;
  action.play();
  const at = (text) => joint(text).getWorldPosition(new three.Vector3());
  const lengths = [];
  let start, end, lowest = -Infinity;
  for (let f = 0; f < figures.frames; ++f) {
    mixer.setTime(Math.min(f / figures.frame_rate, clip.duration));
    gltf.scene.updateMatrixWorld(true);
    legs.forEach(([hip, knee, ankle, ball], l) => {
      const places = [hip, knee, ankle].map(at), bones = [places[0].distanceTo(places[1]), places[1].distanceTo(places[2])];
      lengths[l] ??= bones;
      bones.forEach((length, b) => check(Math.abs(length / lengths[l][b] - 1) < 1e-4, `${name}: a bone of ${hip}: ${length} in frame ${f}`));
      if (l === 0) end = places[0], start ??= places[0];
      if (below && ball) lowest = Math.max(lowest, below(at(ball)));
    });
    for (const mesh of meshes) {
      const ends = [0, mesh.geometry.attributes.position.count - 1].map((i) => mesh.getVertexPosition(i, new three.Vector3()));
      check(ends.every((v) => finite(v.toArray())), `${name}: a vertex of the mesh is nowhere in frame ${f}`);
    }
  }
  if (below) check(Math.abs(lowest) < 0.005, `${name}: the lowest ball of a foot is ${lowest} m under where a flat foot's is`);
  const walked = Math.hypot(end.x - start.x, end.z - start.z), expected = (figures.speed * seconds) / figures.unit;
  check(expected > 0.5 / figures.unit, `${name}: it hardly walks`);
  check(Math.abs(walked - expected) < 0.35 / figures.unit, `${name}: walked ${walked}, the figures say ${expected}`);
  console.log(`${name}: ${clip.tracks.length} tracks, ${figures.frames} frames, ${meshes.length} skinned meshes; the validator: ` +
    `${problems.count} errors, ${problems.warnings} warnings`);
}

const scratch = mkdtempSync(join(tmpdir(), 'phalanx-gltf-'));
const run = (...words) => execFileSync(phalanx, words, {encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe']});
async function bakeAndExamine(name, file, ground, options, more = []) {
  const out = join(scratch, 'out.glb'), json = join(scratch, 'out.json');
  run('bake', file, '--ground', ground, '-o', out, '--json', json, ...more);
  const found = JSON.parse(run('inspect', file, '--json'));
  // a glTF keeps its own unit and clips; what else was read is written anew, in metres
  const isGltf = /\.(glb|gltf)$/.test(file);
  const figures = {...JSON.parse(readFileSync(json, 'utf8')), unit: isGltf ? found.unit : 1};
  const legs = found.legs.map((l) => [l.hip, l.knee, l.ankle, l.ball]);
  await examine(name, out, figures, {legs, clipsBefore: isGltf ? found.clips.length : 0, ...options});
}

try {
  const walker = join(scratch, 'walker.glb'), recorded = join(scratch, 'walker.bvh'), bad = join(scratch, 'bad.glb');
  writeFileSync(walker, made.glb()), writeFileSync(recorded, made.bvh());
  // the checks can fail: the source itself is sound, and one with a byte of its JSON changed is not
  check((await errorsIn(walker)).count === 0, `the made character has errors: ${(await errorsIn(walker)).text}`);
  writeFileSync(bad, Buffer.from(made.glb().toString('latin1').replace('"VEC4"', '"VEC3"'), 'latin1'));
  check((await errorsIn(bad)).count > 0, 'the validator does not see an accessor of the wrong type');
  for (const degrees of [0, 10, -10]) {
    // the plane rises along +Z; balls stand BALL over it along its normal
    const tilt = (degrees * Math.PI) / 180, below = (p) => made.BALL - (p.y * Math.cos(tilt) - p.z * Math.sin(tilt));
    const ground = degrees === 0 ? 'flat' : `slope:${degrees}`;
    await bakeAndExamine(`made, ${ground}`, walker, ground, {skinned: true, below});
    await bakeAndExamine(`made as BVH, ${ground}`, recorded, ground, {skinned: false, below}, ['--unit', '1']);
  }
  await bakeAndExamine('made, hills', walker, 'hills:3', {skinned: true});
  await bakeAndExamine('made, stairs', walker, 'stairs', {skinned: true});
  const data = shared && join(shared, 'data');
  if (!data || !existsSync(data)) console.log(`skipped: characters of others: there is no ${data ?? 'shared folder'} (set PHALANX_SHARED)`);
  else {
    await bakeAndExamine('CesiumMan', join(data, 'gltf_cesiumman/CesiumMan.glb'), 'hills:3', {skinned: true});
    await bakeAndExamine('Fox', join(data, 'gltf_fox/Fox.glb'), 'hills:3', {skinned: true}, ['--clip', 'Walk']);
    await bakeAndExamine('KayKit', join(data, 'gltf_kaykit/Med_MovementBasic.glb'), 'stairs', {skinned: false}, ['--clip', 'Walking_A']);
    await bakeAndExamine('ozz', join(data, 'ozz_pab/pab_walk.dae'), 'slope:12', {skinned: false});
    await bakeAndExamine('CMU 12_01', join(data, 'cmu_bvh/12_01_walk.bvh'), 'hills:3', {skinned: false});
    await bakeAndExamine('bvhtoolbox', join(data, 'bvhtoolbox_walk/walk01.bvh'), 'stairs', {skinned: false});
  }
} finally {
  rmSync(scratch, {recursive: true, force: true});
}
if (failures > 0) console.log(`${failures} checks failed`);
process.exit(failures > 0 ? 1 : 0);
