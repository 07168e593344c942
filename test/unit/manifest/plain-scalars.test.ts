import { describe, expect, it } from 'vitest';
import { resolvePlain, yamlSurprise } from '../../../src/manifest/plain-scalars.ts';

describe('resolvePlain follows the core schema of YAML 1.2', () => {
  it.each([
    ['', null],
    ['~', null],
    ['null', null],
    ['Null', null],
    ['nUll', 'nUll'],
    ['true', true],
    ['FALSE', false],
    ['yes', 'yes'],
    ['0', 0],
    ['-0', 0],
    ['-0.0', 0],
    ['+12', 12],
    ['010', 10],
    ['0o10', 8],
    ['0x1F', 31],
    ['1_000', '1_000'],
    ['1.5e3', 1500],
    ['.5', 0.5],
    ['1.', 1],
    ['-', '-'],
    ['+', '+'],
    ['.', '.'],
    ['1.2.3', '1.2.3'],
    ['2024-01-01', '2024-01-01'],
    ['9007199254740991', 9007199254740991],
  ] as const)('%j', (text, value) => {
    expect(resolvePlain(text)).toEqual({ ok: true, value });
    expect(Object.is(resolvePlain(text).ok && (resolvePlain(text) as { value: unknown }).value, -0)).toBe(false);
  });
  it.each([
    '9007199254740992',
    '-9007199254740993',
    '0xFFFFFFFFFFFFFFFF',
    '.inf',
    '-.Inf',
    '.NaN',
    '1e999',
    '-1.5E+400',
  ])('refuses %j', (text) => {
    expect(resolvePlain(text).ok).toBe(false);
  });
});

describe('yamlSurprise', () => {
  it.each([
    'yes',
    'No',
    'ON',
    'off',
    'y',
    'N',
    '010',
    '-0755',
    '0_7',
    '0o17',
    '1_000',
    '1_0.5',
    '0b101',
    '0x_ff',
    '1:30',
    '22:22',
    '190:20:30.15',
  ])('warns of %j', (text) => {
    expect(yamlSurprise(text, false)).toBeDefined();
  });
  it.each([
    '',
    'true',
    'yess',
    'nothing',
    'one',
    '0',
    '10',
    '0.5',
    '089',
    '0x1F',
    '1.2.3',
    '8080:80',
    'a:1',
    '12:60',
    'nginx:1.25',
    '2024-01-01',
    '1e3',
    '-',
    '+1',
  ])('has nothing to say of %j', (text) => {
    expect(yamlSurprise(text, false)).toBeUndefined();
  });
  it('leaves y and n alone where they are keys', () => {
    expect([yamlSurprise('y', true), yamlSurprise('n', true)]).toEqual([undefined, undefined]);
    expect(yamlSurprise('on', true)).toBeDefined();
  });
  it('says both readings of a file mode', () => {
    expect(yamlSurprise('0644', false)).toEqual({
      message: '0644 is the number 644 here, but the octal number 420 to tools that read YAML 1.1',
      hint: 'write 420 if the octal number is meant, or quote it if text is meant',
    });
  });
});
