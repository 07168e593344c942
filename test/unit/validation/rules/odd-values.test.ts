import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../../../src/model/text/json.ts';
import { rules } from '../../../../src/validation/rules/rules.ts';
import { acceptedManifests } from '../../../support/kubernetes/disagreements.ts';

/** What takes the place of each value of a manifest, one after the other. */
const ODD: readonly JsonValue[] = [
  ...[null, true, -1, 0.5, '', '/', '1.2.3.4/33', ':', '{', 'a/b/c'],
  ...[[], [null], [{}], {}, { '': null }, { constructor: {} }],
];

function* changed(value: JsonValue): Generator<JsonValue> {
  yield* ODD;
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      for (const other of changed(item)) yield value.with(index, other);
    }
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, member] of Object.entries(value)) {
      for (const other of changed(member ?? null)) yield { ...value, [key]: other };
    }
  }
}

describe('rules of built-in kinds', () => {
  it.each(acceptedManifests().map((manifest) => ({ manifest, kind: String(manifest.kind) })))(
    'bear every value in every place of a $kind',
    ({ manifest, kind }) => {
      const [group = '', version] = String(manifest.apiVersion).split('/');
      const rule = rules[`${version === undefined ? '' : group}/${kind}`];
      if (rule === undefined) return;
      for (const object of changed(manifest)) {
        for (const problem of rule(object as JsonObject)) {
          expect(problem.path.every((step) => typeof step === 'string' || typeof step === 'number')).toBe(true);
          expect(problem.message).not.toContain('undefined');
        }
      }
    },
  );
});
