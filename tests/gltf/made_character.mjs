// A character that walks, as a GLB with a skinned mesh and as a BVH, made from formulas: a second author of files for the reader, so that
// bake is tried where no recordings are. Legs of 0.45 + 0.45 m, ankles 0.08 m and balls 0.02 m over the ground, 1.2 m/s in place.
export const THIGH = 0.45, SHIN = 0.45, ANKLE = 0.08, BALL = 0.02, BALL_AHEAD = 0.13, HIPS = 0.9, SPEED = 1.2, FRAMES = 31, RATE = 30;

const names = ['Hips', 'LeftUpLeg', 'LeftLeg', 'LeftFoot', 'LeftToeBase', 'RightUpLeg', 'RightLeg', 'RightFoot', 'RightToeBase'];
const parents = [-1, 0, 1, 2, 3, 0, 5, 6, 7];
const leg = (side) => [[side * 0.1, 0, 0], [0, -THIGH, 0], [0, -SHIN, 0], [0, BALL - ANKLE, BALL_AHEAD]];
const offsets = [[0, THIGH + SHIN + ANKLE, 0], ...leg(1), ...leg(-1)];

// Angles about X of hip, knee and ankle: the ankle stands for half of a second and comes forward in an arch in the other half.
function legAngles(t, shift) {
  const u = (((t + shift) % 1) + 1) % 1, half = SPEED / 4;
  const z = u < 0.5 ? half - SPEED * u : -half * Math.cos(2 * Math.PI * (u - 0.5));
  const y = ANKLE + (u < 0.5 ? 0 : 0.12 * Math.sin(2 * Math.PI * (u - 0.5)) ** 2) - HIPS;
  const d = Math.hypot(y, z), knee = Math.acos((THIGH ** 2 + SHIN ** 2 - d * d) / (2 * THIGH * SHIN));
  const inner = Math.acos((THIGH ** 2 + d * d - SHIN ** 2) / (2 * THIGH * d));
  const hip = -(Math.atan2(z, -y) + inner), bend = Math.PI - knee; // turned about X by a, (0,-1,0) becomes (0, -cos a, -sin a)
  return [hip, bend, -(hip + bend)];
}
const pose = (f) => {
  const t = f / (FRAMES - 1), left = legAngles(t, 0), right = legAngles(t, 0.5);
  return [0, ...left, 0, ...right, 0];
};

export function glb() {
  const chunks = [], views = [], accessors = [];
  let size = 0;
  const add = (array, type, count, componentType, extra = {}) => {
    views.push({buffer: 0, byteOffset: size, byteLength: array.byteLength, ...(extra.target ? {target: extra.target} : {})});
    delete extra.target;
    accessors.push({bufferView: views.length - 1, componentType, count, type, ...extra});
    const bytes = Buffer.from(array.buffer, array.byteOffset, array.byteLength), padding = Buffer.alloc((4 - (bytes.length % 4)) % 4);
    chunks.push(bytes, padding);
    size += bytes.length + padding.length;
    return accessors.length - 1;
  };
  const world = offsets.map((o, j) => o.slice());
  for (let j = 1; j < names.length; ++j) for (let k = 0; k < 3; ++k) world[j][k] += world[parents[j]][k];
  // a triangle at each joint, bound to it
  const position = [], joints = [], weights = [];
  for (let j = 0; j < names.length; ++j)
    for (const [dx, dz] of [[0.05, 0], [-0.05, 0], [0, 0.05]]) {
      position.push(world[j][0] + dx, world[j][1], world[j][2] + dz);
      joints.push(j, 0, 0, 0), weights.push(1, 0, 0, 0);
    }
  const bound = (sign) => [0, 1, 2].map((k) => Math[sign](...position.filter((_, i) => i % 3 === k).map(Math.fround)));
  const attributes = {
    POSITION: add(new Float32Array(position), 'VEC3', position.length / 3, 5126, {target: 34962, min: bound('min'), max: bound('max')}),
    JOINTS_0: add(new Uint8Array(joints), 'VEC4', joints.length / 4, 5121, {target: 34962}),
    WEIGHTS_0: add(new Float32Array(weights), 'VEC4', weights.length / 4, 5126, {target: 34962}),
  };
  const inverse = world.flatMap((w) => [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, -w[0], -w[1], -w[2], 1]);
  const inverseBindMatrices = add(new Float32Array(inverse), 'MAT4', names.length, 5126);
  const times = Float32Array.from({length: FRAMES}, (_, f) => f / RATE);
  const input = add(times, 'SCALAR', FRAMES, 5126, {min: [times[0]], max: [times[FRAMES - 1]]});
  const samplers = [], channels = [];
  const animate = (node, path, values, type) => {
    samplers.push({input, output: add(new Float32Array(values), type, FRAMES, 5126)});
    channels.push({sampler: samplers.length - 1, target: {node, path}});
  };
  const frames = Array.from({length: FRAMES}, (_, f) => pose(f));
  animate(0, 'translation', frames.flatMap(() => [0, HIPS, 0]), 'VEC3');
  for (let j = 1; j < names.length; ++j)
    animate(j, 'rotation', frames.flatMap((a) => [Math.sin(a[j] / 2), 0, 0, Math.cos(a[j] / 2)]), 'VEC4');
  const nodes = names.map((name, j) => {
    const children = parents.flatMap((p, c) => (p === j ? [c] : []));
    return {name, translation: offsets[j], ...(children.length ? {children} : {})};
  });
  nodes.push({name: 'Body', mesh: 0, skin: 0});
  const document = {
    asset: {version: '2.0'}, scene: 0, scenes: [{nodes: [0, names.length]}], nodes,
    meshes: [{primitives: [{attributes}]}], skins: [{joints: names.map((_, j) => j), inverseBindMatrices, skeleton: 0}],
    animations: [{name: 'Walk', samplers, channels}], accessors, bufferViews: views, buffers: [{byteLength: size}],
  };
  let json = Buffer.from(JSON.stringify(document));
  json = Buffer.concat([json, Buffer.alloc((4 - (json.length % 4)) % 4, ' ')]);
  const header = Buffer.alloc(20), binary = Buffer.alloc(8);
  header.write('glTF'), header.writeUInt32LE(2, 4), header.writeUInt32LE(28 + json.length + size, 8);
  header.writeUInt32LE(json.length, 12), header.write('JSON', 16);
  binary.writeUInt32LE(size, 0), binary.write('BIN\0', 4);
  return Buffer.concat([header, json, binary, ...chunks]);
}

export function bvh() {
  const line = (depth, text) => '  '.repeat(depth) + text + '\n';
  const children = (j) => parents.flatMap((p, c) => (p === j ? [c] : []));
  const hierarchy = (j, depth) => {
    const turns = 'Zrotation Yrotation Xrotation';
    let text = line(depth, `${j === 0 ? 'ROOT' : 'JOINT'} ${names[j]}`) + line(depth, '{');
    text += line(depth + 1, `OFFSET ${offsets[j].join(' ')}`);
    text += line(depth + 1, j === 0 ? `CHANNELS 6 Xposition Yposition Zposition ${turns}` : `CHANNELS 3 ${turns}`);
    for (const c of children(j)) text += hierarchy(c, depth + 1);
    if (children(j).length === 0) text += line(depth + 1, 'End Site {') + line(depth + 2, 'OFFSET 0 0 0.07') + line(depth + 1, '}');
    return text + line(depth, '}');
  };
  let text = 'HIERARCHY\n' + hierarchy(0, 0) + `MOTION\nFrames: ${FRAMES}\nFrame Time: ${1 / RATE}\n`;
  const degrees = (a) => ((a * 180) / Math.PI).toFixed(6);
  for (let f = 0; f < FRAMES; ++f) text += `0 ${HIPS} 0 0 0 0 ${pose(f).slice(1).map((a) => `0 0 ${degrees(a)}`).join(' ')}\n`;
  return text;
}
