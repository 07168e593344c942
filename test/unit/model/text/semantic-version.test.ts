import { describe, expect, it } from 'vitest';
import {
  compareVersions,
  isSameMinorFrom,
  parseLooseVersion,
  parseVersion,
} from '../../../../src/model/text/semantic-version.ts';

const version = (text: string) => parseLooseVersion(text) ?? expect.fail(`${text} is no version`);

describe('versions', () => {
  it('are read with and without a "v", a prerelease and build metadata', () => {
    const plain = { major: 1n, minor: 33n, patch: 2n, prerelease: [] };
    expect(parseLooseVersion('1.33.2')).toEqual(plain);
    expect(parseLooseVersion('v1.33.2+k3s1')).toEqual(plain);
    expect(parseLooseVersion('v1.33.2-gke.1+build.7')).toEqual({ ...plain, prerelease: ['gke', '1'] });
    expect(parseLooseVersion('1.33')).toEqual({ ...plain, patch: 0n });
  });

  it.each(['v1.33.2', '1.33', '01.33.2', '1.33.2 '])('%j is written loosely', (text) => {
    expect(parseVersion(text)).toBeUndefined();
  });

  it.each([
    '',
    'v',
    '1.33.2.1',
    'one',
    '1.33.2-',
    '-1',
    '1..2',
    '99999999999999999999.0.0',
    '1.0.0-01',
    `1.0.0-${'a'.repeat(200)}`,
  ])('%j is none', (text) => expect(parseLooseVersion(text)).toBeUndefined());

  it('are ordered as by Semantic Versioning', () => {
    const ordered = [
      ...['1.0.0-2', '1.0.0-11', '1.0.0-alpha', '1.0.0-alpha.1', '1.0.0-alpha.beta', '1.0.0-beta', '1.0.0-rc.2'],
      ...['1.0.0-rc.11', '1.0.0', '1.0.1-gke.1', '1.0.1', '1.2.0', '1.10.0', '2.0.0'],
    ];
    const sorted = [...ordered].reverse().sort((a, b) => compareVersions(version(a), version(b)));
    expect(sorted).toEqual(ordered);
    expect(compareVersions(version('1.0.0-9'), version('1.0.0-99999999999999999999'))).toBeLessThan(0);
    expect(compareVersions(version('v1.33.2+k3s1'), version('1.33.2'))).toBe(0);
  });

  it.each([
    ['1.33.2', '1.33.2', true],
    ['1.33.2', '1.33.10', true],
    ['1.33.2', '1.33.1', false],
    ['1.33.2', '1.34.0', false],
    ['1.33.2', '2.33.2', false],
    ['v1.33.2-gke.1', '1.33.2', true],
    ['v1.33.2-gke.1', '1.33.2-gke.2', true],
    ['v1.33.2-gke.2', '1.33.2-gke.1', false],
    ['v1.33.1', '1.33.2-gke.1', false],
  ])('~ %s: %s → %j', (from, text, fulfils) => {
    expect(isSameMinorFrom(version(from), version(text))).toBe(fulfils);
  });
});
