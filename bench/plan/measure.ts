/** Plans a change against a recording, in a process of its own: `measure.ts FILE DOCUMENTS`, the number of changed files. */
import { createReadStream } from 'node:fs';
import process from 'node:process';
import { makePlan } from '../../src/compose/plan/make-plan.ts';
import { parseRecording } from '../../src/compose/snapshot/read-recording.ts';
import { loadRecording } from '../../src/compose/snapshot/replay.ts';
import { stageFile } from '../../src/runtime/replica/sources.ts';
import { CLUSTERS, deploymentOf, pathOf, readingOf } from './workload.ts';

const [file = '', amount = ''] = process.argv.slice(2);
const changed = Number(amount);

const begun = performance.now();
const { engine } = await loadRecording(await parseRecording(createReadStream(file), file), 'dropped');
const loaded = performance.now();
const stage = (): void => {
  for (let document = 0; document < changed; document += 1) {
    const path = pathOf(document);
    stageFile(engine, 'main', path, readingOf(path, deploymentOf(document, 3)));
  }
};
const about = {
  source: 'main',
  revision: 'b'.repeat(40),
  base: 'a'.repeat(40),
  at: '',
  notJudged: [],
  findings: [],
  state: { revisions: {} },
};
const plan = await makePlan(engine, stage, about, { place: async ({ path }) => path });
const bytes = JSON.stringify(plan).length;
const planned = performance.now();
if (plan.summary.change !== changed * CLUSTERS) throw new Error(`${plan.summary.change} changes were planned`);
process.stdout.write(
  JSON.stringify({
    ...{ baseMillis: Math.round(loaded - begun), planMillis: Math.round(planned - loaded), bytes },
    peakMiB: Math.round(process.resourceUsage().maxRSS / 1024),
  }),
);
