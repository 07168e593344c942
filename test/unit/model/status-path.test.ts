import { describe, expect, it } from 'vitest';
import { pathSegment } from '../../../src/model/status-path.ts';

describe('a name as a segment of a path', () => {
  it('stays as it is if it is the name of a Kubernetes object', () => {
    expect(pathSegment('web-7.example_1')).toBe('web-7.example_1');
  });

  it.each([
    ['..', '%2e%2e'],
    ['.git', '%2egit'],
    ['a/b', 'a%2fb'],
    ['a\\b', 'a%5cb'],
    ['Web', '%57eb'],
    ['a%2fb', 'a%252fb'],
    ['a\nb', 'a%0ab'],
    ['é', '%c3%a9'],
    ['', '%'],
  ])('%j is encoded', (name, segment) => {
    expect(pathSegment(name)).toBe(segment);
  });

  it('is as short as a file name can be, and its own for each name', () => {
    const names = [
      'a'.repeat(200),
      'a'.repeat(201),
      `${'a'.repeat(200)}b`,
      '\ud800',
      '\ud801',
      '\ufffd',
      '/'.repeat(300),
    ];
    const segments = names.map(pathSegment);
    expect(new Set(segments).size).toBe(names.length);
    for (const segment of segments) expect(segment).toMatch(/^[a-z0-9._%~-]{1,200}$/);
  });
});
