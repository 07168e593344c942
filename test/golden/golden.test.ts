import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCase } from './run-case.ts';

const folder = join(import.meta.dirname, 'cases');
const cases = readdirSync(folder).filter((name) => name.endsWith('.case.yaml'));

describe('golden cases: input and change → delta and why', () => {
  it.each(cases)('%s', async (name) => {
    const told = await runCase(readFileSync(join(folder, name), 'utf8'));
    await expect(told).toMatchFileSnapshot(join(folder, `${basename(name, '.case.yaml')}.golden.yaml`));
  });

  it('there are cases for every concern', () => {
    for (const concern of ['placement', 'outputs', 'guards', 'status', 'mirroring', 'safe-mode', 'dataplanes']) {
      expect(
        cases.filter((name) => name.startsWith(concern)),
        concern,
      ).not.toEqual([]);
    }
  });
});
