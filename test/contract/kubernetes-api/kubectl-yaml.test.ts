import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { isJsonObject, type JsonValue } from '../../../src/model/text/json.ts';
import { kubectlReadings } from '../../support/kubectl-yaml.ts';
import { isLong } from '../../support/long.ts';
import { noProgram, programPath } from '../../support/programs.ts';

const HEAD = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n';
const MARK = 'fleetrelay.dev/read';

/** What kubectl reads in a text, which must be one object; null: it refuses the text. */
function ask(text: string): JsonValue {
  const args = ['annotate', '--local', '-f', '-', '-o', 'json', `${MARK}=yes`];
  const { status, stdout, error } = spawnSync(programPath('kubectl'), args, {
    input: text,
    encoding: 'utf8',
    timeout: 60_000,
  });
  if (error !== undefined) throw error;
  return status === 0 ? JSON.parse(stdout) : null;
}

/** The texts that become an object if the fields of one are written above them. */
const fields = kubectlReadings.filter(({ text, kubectl: read }) => {
  const [only, ...others] = read ?? [{}];
  return (
    /^[\w"'?*&:.+<=~-]/.test(text) && !/^(?:---|- |\.\.\.)/.test(text) && others.length === 0 && isJsonObject(only)
  );
});

describe.skipIf(noProgram('kubectl') || !isLong)('the answers of kubectl, as they are recorded', () => {
  it.each(fields)('$name', ({ text, kubectl: read }) => {
    const [only] = read ?? [];
    const metadata = { name: 'a', annotations: { [MARK]: 'yes' } };
    const object = isJsonObject(only) ? { apiVersion: 'v1', kind: 'ConfigMap', metadata, ...only } : null;
    expect(ask(HEAD + text)).toEqual(object);
  });

  it('are compared in 250 cases at least', () => {
    expect(fields.length).toBeGreaterThan(250);
  });
});
