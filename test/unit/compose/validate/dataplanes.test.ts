import { expect, it } from 'vitest';
import { validatePaths } from '../../../../src/compose/validate/validate.ts';
import { rightDataplanes, violationsBelow, wrongDataplanes } from '../../../support/dataplanes.ts';
import { bytesOf } from '../../../support/decoding.ts';

const text = (specs: readonly string[]): string =>
  specs.map((spec, index) => `---\ntype: Dataplane\nname: dp-${index}\n${spec}\n`).join('');
const validate = (specs: readonly string[]) =>
  validatePaths({ paths: ['-'], cwd: '/', readStdin: async () => bytesOf(text(specs)) });

it('Dataplanes that break rules of Kuma are invalid, with its words', async () => {
  const { resources, diagnostics } = await validate(wrongDataplanes.map(({ spec }) => spec));
  expect(resources.map(({ kind, state }) => [kind, state])).toEqual(
    wrongDataplanes.map(() => ['Dataplane', 'invalid']),
  );
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  expect(errors.map(({ message }) => message).sort()).toEqual(
    wrongDataplanes.flatMap((wrong) => violationsBelow('', wrong)).sort(),
  );
});

it('Dataplanes that Kuma takes are valid', async () => {
  const { resources, diagnostics } = await validate(Object.values(rightDataplanes));
  expect(diagnostics).toEqual([]);
  expect(resources.map(({ state }) => state)).toEqual(Object.values(rightDataplanes).map(() => 'valid'));
});
