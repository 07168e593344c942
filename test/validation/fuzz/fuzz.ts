/**
 * Fuzzes the validator: no input may make it throw, hang, or take memory without bound.
 *
 *     node test/validation/fuzz/fuzz.ts [--count N] [--seed N] [--from N]
 */
import { parseArgs } from 'node:util';
import { runFuzz } from './run-fuzz.ts';

const { values } = parseArgs({
  options: { count: { type: 'string' }, seed: { type: 'string' }, from: { type: 'string' } },
});
const count = Number(values.count ?? 100_000);
const begun = performance.now();
const { findings, findingsAcross, defects } = await runFuzz({
  count,
  seed: Number(values.seed ?? 1),
  from: Number(values.from ?? 0),
  progress: (done) => process.stderr.write(`\r${done} of ${count}`),
});
process.stderr.write('\n');
for (const { index, what, text } of defects.slice(0, 20))
  console.log(`--- input ${index}: ${what}\n${text.slice(0, 2_000)}`);
console.log(
  `${count} inputs, ${findings} findings, ${findingsAcross} across files, ${defects.length} defects in ${Math.round((performance.now() - begun) / 1000)} s`,
);
process.exitCode = defects.length === 0 ? 0 : 1;
