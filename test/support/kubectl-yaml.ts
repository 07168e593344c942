import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonValue } from '../../src/model/text/json.ts';

/** A YAML text, and what kubectl reads in it. */
export interface KubectlReading {
  readonly name: string;
  readonly text: string;
  /** The documents that are not null; null: kubectl refuses the text. */
  readonly kubectl: readonly JsonValue[] | null;
  /** Why fleetrelay differs: it refuses what kubectl reads, except where this says otherwise. */
  readonly differs?: string;
}

/** The texts, with the answers of kubectl v1.36. */
export const kubectlReadings: readonly KubectlReading[] = JSON.parse(
  readFileSync(join(import.meta.dirname, '../manifest/kubectl-yaml.json'), 'utf8'),
);
