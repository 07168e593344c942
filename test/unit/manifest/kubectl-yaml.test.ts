import { describe, expect, it } from 'vitest';
import { defaultDecodeLimits } from '../../../src/manifest/limits.ts';
import { readYaml } from '../../../src/manifest/read-yaml.ts';
import { readText } from '../../../src/manifest/text.ts';
import type { JsonValue } from '../../../src/model/text/json.ts';
import { kubectlReadings } from '../../support/kubectl-yaml.ts';

/** The documents that are not null; null: the text is refused. */
function read(text: string): readonly JsonValue[] | null {
  const decoded = readText(new TextEncoder().encode(text));
  if (!decoded.ok) return null;
  const { documents, problems } = readYaml(decoded.text, defaultDecodeLimits);
  if (problems.some(({ severity }) => severity === 'error')) return null;
  return documents.map(({ value }) => value).filter((value) => value !== null);
}

describe('a YAML text is read as kubectl reads it', () => {
  it.each(kubectlReadings.filter(({ differs }) => differs === undefined))('$name', ({ text, kubectl }) => {
    expect(read(text)).toEqual(kubectl);
  });

  it('in 300 forms at least', () => {
    expect(kubectlReadings.filter(({ differs }) => differs === undefined).length).toBeGreaterThan(300);
  });
});

describe('a YAML text is not read as kubectl reads it', () => {
  it.each(kubectlReadings.filter(({ differs }) => differs !== undefined))('$name: $differs', ({ text, kubectl }) => {
    expect(read(text)).not.toEqual(kubectl);
  });

  it('and nearly always refused then', () => {
    const others = kubectlReadings.filter(({ text, differs }) => differs !== undefined && read(text) !== null);
    expect(others.map(({ name }) => name)).toEqual(['flow-question', 'json-big']);
  });
});
