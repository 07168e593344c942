import { engineDomains } from '../domains/engines.ts';
import { createGraph } from '../engine/collections/graph.ts';
import { createEngine, type Engine } from '../engine/graph.ts';
import type { DecodedFile } from '../model/fleet/desired.ts';
import type { FindingReason } from '../model/fleet/diagnostic.ts';
import { parseSourceName } from '../model/fleet/ids.ts';
import { given } from '../model/values/given.ts';
import { must } from '../model/values/result.ts';
import { stageFile } from '../runtime/replica/sources.ts';
import type { ConfiguredSource } from './configured-source.ts';

type Said = Pick<ConfiguredSource, 'name' | 'order' | 'rights' | 'bounds'>;

/** A source that may say everything. */
const UNBOUNDED: Said = {
  name: must(parseSourceName('main')),
  order: 0,
  bounds: { guards: {}, safeModes: [], webhookRemediator: true },
};

/** Findings about something that is missing, which another source or a file that was not read may have. */
export const FINDINGS_OF_ABSENCE: readonly FindingReason[] = [
  'GoesNowhere',
  'UnknownCluster',
  'PlacementSelectsNothing',
  'SelectsNoCluster',
];

/** The files of a folder by path relative to it, with `/`. */
interface Files {
  readonly files: ReadonlyMap<string, Pick<DecodedFile, 'reading'>>;
  /** The source that the folder is a checkout of; absent: one that may say everything. */
  readonly source?: Said | undefined;
}

/**
 * Creates an engine with the files of a folder as its only source. No cluster has reported, and nothing is committed.
 *
 * @param version of the program, where statuses name it
 */
export function openEvaluation({ files, source = UNBOUNDED }: Files, version?: string): Engine {
  const { name, order, rights, bounds } = source;
  const engine = createEngine(createGraph(), engineDomains);
  engine.inputs.fleet.set('', '', { bounds, role: 'leader', ...given({ version }) });
  engine.inputs.sources.set('', name, { order, read: true, ...(rights && { rights }) });
  for (const [path, { reading }] of files) stageFile(engine, name, path, reading);
  return engine;
}
