import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { Diagnostic } from '../../src/model/fleet/diagnostic.ts';
import type { JsonObject } from '../../src/model/text/json.ts';
import { createObjectCheck } from '../../src/validation/check-object.ts';
import { createCelEvaluator } from '../../src/validation/custom/cel/evaluator.ts';
import { createCustomKinds } from '../../src/validation/custom/custom-kinds.ts';
import { newestKubernetesVersion, openKubernetesSchemas } from '../../src/validation/kubernetes-schemas.ts';
import { compilePattern } from '../../src/validation/values/patterns.ts';
import type { ObjectCheck } from '../../src/validation/values/schema.ts';
import { decodeFile } from './decode-file.ts';

/** A manifest of `test/validation`. */
export interface ValidationCase {
  /** `GROUP/NAME`, or the path of a file outside the corpus. */
  readonly name: string;
  readonly bytes: Uint8Array;
  /** `CODE LINE:COLUMN` of each expected error, in the order of the file. */
  readonly wanted: readonly string[];
  /** Why fleetrelay refuses what the API server accepts; absent: the API server refuses it too. */
  readonly serverAccepts?: string;
  /** The text of the CustomResourceDefinition beside it, `NAME.crd.yaml`. */
  readonly crd?: string;
}

const kubernetes = await openKubernetesSchemas(newestKubernetesVersion);
const { compileRules, checkExpressions } = createCelEvaluator();
const check = createObjectCheck({ kubernetes, checkExpressions });

const CORPUS = join(import.meta.dirname, '../validation');
const CRD_SUFFIX = '.crd.yaml';

/** The cases of one folder of the corpus, in the order of their names. */
export function validationCases(folder: 'refused' | 'accepted'): readonly ValidationCase[] {
  const root = join(CORPUS, folder);
  const files = globSync('*/*.yaml', { cwd: root }).filter((file) => !file.endsWith(CRD_SUFFIX));
  return files
    .sort()
    .map((file) => ({ ...readValidationCase(join(root, file)), name: file.slice(0, -'.yaml'.length) }));
}

/** Reads a case: comments before the first other line say what is expected of it. */
export function readValidationCase(path: string): ValidationCase {
  const bytes = readFileSync(path);
  const [head = ''] = /^(#.*\n)*/.exec(bytes.toString('utf8')) ?? [];
  const serverAccepts = /^# server accepts: (.+)$/m.exec(head)?.[1];
  const crdPath = path.replace(/\.yaml$/, CRD_SUFFIX);
  const [beside] = globSync(crdPath);
  return {
    name: path,
    bytes,
    wanted: [...head.matchAll(/^# want (FR\d{4} \d+:\d+)$/gm)].map(([, want = '']) => want),
    ...(serverAccepts === undefined ? {} : { serverAccepts }),
    ...(beside === undefined ? {} : { crd: readFileSync(beside, 'utf8') }),
  };
}

/** What `validate` reports of the case, warnings included. */
export function diagnosticsOfCase({ bytes, crd }: ValidationCase): readonly Diagnostic[] {
  return decodeFile('case.yaml', bytes, 'blob', { check: crd === undefined ? check : checkWith(crd) }).diagnostics;
}

function checkWith(crd: string): ObjectCheck {
  const custom = [createCustomKinds([parse(crd) as JsonObject], compileRules)];
  return createObjectCheck({ kubernetes, custom, compilePattern });
}

/** The errors among the diagnostics, as `CODE LINE:COLUMN`. */
export function errorsOf(diagnostics: readonly Diagnostic[]): readonly string[] {
  return diagnostics.filter(({ severity }) => severity === 'error').map(placeOf);
}

/** `CODE LINE:COLUMN`. */
export function placeOf({ code, at }: Diagnostic): string {
  return `${code} ${at?.line ?? 0}:${at?.column ?? 0}`;
}
