import { resolve } from 'node:path';
import type { SourceName } from '../model/fleet/ids.ts';
import type { PolicyBounds, RelayConfig } from '../model/fleet/relay-config.ts';
import { rightsOfSources, type SourceRights } from '../model/fleet/source-rights.ts';
import type { RevisionLimits } from '../model/limits/revision-limits.ts';
import { given } from '../model/values/given.ts';
import { readConfigFile } from './serve/config.ts';

/** A source of a RelayConfig, of which a folder is a checkout: what the server lets it say, and its limits. */
export interface ConfiguredSource {
  readonly name: SourceName;
  /** Position among the sources. */
  readonly order: number;
  /** No other source can declare what this one lacks. */
  readonly isOnly: boolean;
  readonly rights?: SourceRights;
  readonly bounds: PolicyBounds;
  readonly limits: RevisionLimits;
}

/** Names a source of a RelayConfig. */
export interface SourceChoice {
  /** The file of the RelayConfig, relative to the working directory; absent: a source with all rights and the default limits. */
  readonly config?: string;
  /** Absent: the only source. */
  readonly source?: string;
}

/** Reads the source from the RelayConfig; undefined if the choice names no file. Rejects with a text for people. */
export async function configuredSource(
  { config: file, source: name }: SourceChoice,
  cwd: string,
): Promise<ConfiguredSource | undefined> {
  if (file === undefined) return undefined;
  const config = await readConfigFile(resolve(cwd, file));
  const order = orderOf(config, name, file);
  const source = config.sources[order];
  if (source === undefined) throw new Error(`${file} has no source`);
  const rights = rightsOfSources(config.sources).get(source.name);
  return {
    name: source.name,
    order,
    isOnly: config.sources.length === 1,
    ...given({ rights }),
    bounds: config.bounds,
    limits: config.limits.revision,
  };
}

function orderOf({ sources }: RelayConfig, name: string | undefined, file: string): number {
  const names = sources.map((source) => source.name).join(', ');
  if (name === undefined && sources.length > 1) {
    throw new Error(`${file} has several sources: say with --source which one the folder is: ${names}`);
  }
  const order = name === undefined ? 0 : sources.findIndex((source) => source.name === name);
  if (order < 0) throw new Error(`${file} has no source ${name}; it has ${names}`);
  return order;
}
