import { createGraph } from '../engine/collections/graph.ts';
import { createEngine, type Engine } from '../engine/graph.ts';
import type { DecodedFile } from '../model/desired.ts';
import { parseSourceName } from '../model/ids.ts';
import { must } from '../model/result.ts';
import { stageFile } from '../runtime/replica/sources.ts';

/** The name of the only source of an evaluation. */
const SOURCE = must(parseSourceName('main'));

/** The files of a folder by path relative to it, with `/`. */
interface Files {
  readonly files: ReadonlyMap<string, Pick<DecodedFile, 'reading'>>;
}

/**
 * Creates an engine with the files of a folder as its only source. No cluster has reported, and nothing is committed.
 *
 * @param version of the program, where statuses name it
 */
export function openEvaluation({ files }: Files, version?: string): Engine {
  const engine = createEngine(createGraph());
  engine.inputs.fleet.set('', '', {
    bounds: { guards: {}, safeModes: [], webhookRemediator: true },
    role: 'leader',
    ...(version === undefined ? {} : { version }),
  });
  engine.inputs.sources.set('', SOURCE, { order: 0, read: true });
  for (const [path, { reading }] of files) stageFile(engine, SOURCE, path, reading);
  return engine;
}
