import { describe, expect, it } from 'vitest';
import { publicManifests, publicNames } from '../../scripts/local/public-manifests.ts';
import { decoders } from '../../src/domains/decoders.ts';
import { checkDocuments } from '../../src/manifest/decode-file.ts';
import { defaultDecodeLimits } from '../../src/manifest/limits.ts';
import { readFile } from '../../src/manifest/read-file.ts';
import { type Diagnostic, displayDiagnostic } from '../../src/model/fleet/diagnostic.ts';
import { isJsonObject } from '../../src/model/text/json.ts';
import { createObjectCheck } from '../../src/validation/check-object.ts';
import { createCelEvaluator } from '../../src/validation/custom/cel/evaluator.ts';
import { createCustomKinds, isDefinition } from '../../src/validation/custom/custom-kinds.ts';
import { newestKubernetesVersion, openKubernetesSchemas } from '../../src/validation/kubernetes-schemas.ts';
import type { ObjectCheck } from '../../src/validation/values/schema.ts';
import { decodeFile } from '../support/decode-file.ts';
import { isLong } from '../support/long.ts';

type Files = ReadonlyMap<string, Uint8Array>;

/** The check of objects with the definitions that the files hold. */
async function checkFor(files: Files): Promise<ObjectCheck> {
  const options = { decoders, limits: defaultDecodeLimits, fixes: false };
  const definitions = [...files].flatMap(([path, bytes]) =>
    [...checkDocuments(readFile(path, bytes, defaultDecodeLimits), options, [])].flatMap(({ value }) =>
      isJsonObject(value) && isDefinition(value) ? [value] : [],
    ),
  );
  const kubernetes = await openKubernetesSchemas(newestKubernetesVersion);
  const custom = [createCustomKinds(definitions, createCelEvaluator().compileRules)];
  return createObjectCheck({ kubernetes, custom });
}

function findingsIn(files: Files, check?: ObjectCheck): readonly string[] {
  const decoded = [...files].map(([path, bytes]) => decodeFile(path, bytes, '', check === undefined ? {} : { check }));
  const shown = ({ code, ...rest }: Diagnostic) => `${code} ${displayDiagnostic({ code, ...rest })}`;
  return decoded.flatMap(({ diagnostics }) => diagnostics.map(shown));
}

/** True as long as no schema says that a number is wanted: Calico writes `defaultMode: 0400`, which is no octal number in YAML 1.2. */
const TRUE_FINDINGS: readonly RegExp[] = [/^FR1013 manifests\/(?:calico|canal)-etcd\.yaml:\d+:26: warning: /];

function falseFindings(found: readonly string[]): readonly string[] {
  return found.filter((finding) => !TRUE_FINDINGS.some((known) => known.test(finding)));
}

describe.skipIf(!isLong)('manifests of well-known projects', () => {
  it.for(publicNames)(
    '%s: no false finding, neither of the decoder nor of the check of objects',
    async (name, { skip }) => {
      const found = await publicManifests(name);
      if (!found.ok) return skip(found.problem);
      const { files } = found;
      expect(files.size).toBeGreaterThan(0);
      expect(falseFindings(findingsIn(files))).toEqual([]);
      expect(findingsIn(files, await checkFor(files))).toEqual([]);
    },
  );
});
