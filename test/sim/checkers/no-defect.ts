import type { MakeChecker } from './checker.ts';

/** Log lines that report a programming error, under any fault of the world. */
const DEFECTS = [
  'a sink failed',
  'a listener failed',
  'sending failed',
  'a delta could not be made',
  'recorders stage changes without end',
  'status cannot be rendered',
  'computing diagnostics failed; it is tried again',
];

/** Nothing throws where only a defect can make it throw. */
export const noDefect: MakeChecker = (world, fail) => {
  world.listen((event) => {
    if (event.type !== 'log' || event.line.level === 'info') return;
    const { message, data, process } = event.line;
    // A hostile agent may break itself.
    if (world.hostile !== undefined && process.startsWith(`${world.hostile.cluster.name}.`)) return;
    if (DEFECTS.includes(message)) fail(`${message}: ${JSON.stringify(data)}`);
    const text = JSON.stringify(data);
    if (/TypeError|ReferenceError|RangeError|undefined is not|not a function/.test(text)) fail(`${message}: ${text}`);
  });
  return { name: 'no defect' };
};
