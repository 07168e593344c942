import { describe, expect, it } from 'vitest';
import { resolveKey, resolvePlain, yamlSurprise } from '../../../src/manifest/plain-scalars.ts';

/** What `kubectl patch --local` prints for each scalar. */
describe('resolvePlain reads as kubectl does', () => {
  it.each([
    ['', null],
    ['~', null],
    ['null', null],
    ['Null', null],
    ['nUll', 'nUll'],
    ['true', true],
    ['FALSE', false],
    ['yes', true],
    ['Yes', true],
    ['yEs', 'yEs'],
    ['y', true],
    ['N', false],
    ['on', true],
    ['OFF', false],
    ['oFF', 'oFF'],
    ['0', 0],
    ['-0', 0],
    ['-0.0', 0],
    ['+12', 12],
    ['010', 8],
    ['0644', 420],
    ['-0644', -420],
    ['0o10', 8],
    ['-0O17', -15],
    ['08', 8],
    ['089', 89],
    ['010.5', 10.5],
    ['0x1F', 31],
    ['0X_ff', 255],
    ['0xg', '0xg'],
    ['0x', '0x'],
    ['0b1010', 10],
    ['-0b11', -3],
    ['0b2', '0b2'],
    ['1_000', 1000],
    ['1__0_', 10],
    ['-_1', -1],
    ['_1', '_1'],
    ['1_0.5', 10.5],
    ['1e_3', 1000],
    ['.1_0', 0.1],
    ['._1', '._1'],
    ['.1_', '.1_'],
    ['1.5e3', 1500],
    ['1e', '1e'],
    ['.5', 0.5],
    ['-.5', -0.5],
    ['1.', 1],
    ['1e999', '1e999'],
    ['-1.5E+400', '-1.5E+400'],
    ['.5e999', '.5e999'],
    ['-', '-'],
    ['+', '+'],
    ['.', '.'],
    ['1.2.3', '1.2.3'],
    ['1:30', '1:30'],
    ['190:20:30.15', '190:20:30.15'],
    ['2024-01-01', '2024-01-01'],
    ['2024-01-01T00:00:00Z', '2024-01-01T00:00:00Z'],
    ['9007199254740991', 9007199254740991],
    ['Infinity', 'Infinity'],
  ] as const)('%j', (text, value) => {
    expect(resolvePlain(text)).toEqual({ ok: true, value });
    expect(Object.is(resolvePlain(text).ok && (resolvePlain(text) as { value: unknown }).value, -0)).toBe(false);
  });
  it.each(['9007199254740992', '-9007199254740993', '0xFFFFFFFFFFFFFFFF', '.inf', '+.inf', '-.Inf', '.NaN'])(
    'refuses %j',
    (text) => {
      expect(resolvePlain(text).ok).toBe(false);
    },
  );
});

describe('resolveKey reads as kubectl does', () => {
  it.each([
    ['text', 'text'],
    ['y', 'true'],
    ['off', 'false'],
    ['True', 'true'],
    ['~', null],
    ['', null],
    ['8080', '8080'],
    ['0644', '420'],
    ['1_000', '1000'],
    ['-0', '0'],
    ['123456789012345678', '123456789012345678'],
    ['1.10', '1.1'],
    ['-0.0', '-0'],
    ['1e3', '1000'],
    ['5e6', '5e+06'],
    ['1234567.5', '1.2345675e+06'],
    ['123456789.123456789', '1.2345679e+08'],
    ['3.14159265358979323846', '3.1415927'],
    ['0.0001', '0.0001'],
    ['0.00001', '1e-05'],
    ['5e-324', '0'],
    ['1e300', '.inf'],
    ['+.Inf', '.inf'],
    ['.NAN', '.nan'],
    ['1.2.3', '1.2.3'],
  ] as const)('%j', (text, value) => {
    expect(resolveKey(text)).toEqual({ ok: true, value });
  });
  it('refuses a number of more than 64 bits', () => {
    expect(resolveKey('18446744073709551616').ok).toBe(false);
  });
});

describe('yamlSurprise', () => {
  it.each([
    ...[
      'yes',
      'No',
      'ON',
      'off',
      'y',
      'N',
      '010',
      '-0755',
      '0_7',
      '1_000',
      '1_0.5',
      '0b101',
      '0x_ff',
      '-0o17',
      '1e999',
    ],
  ])('warns of %j', (text) => {
    expect(yamlSurprise(text, false)).toBeDefined();
  });
  it.each([
    ...['', 'true', 'yess', 'nothing', 'one', '0', '-0', '00', '10', '0.5', '089', '0o17', '0x1F', '1.2.3', '8080:80'],
    ...['a:1', '1:30', '22:22', '12:60', 'nginx:1.25', '2024-01-01', '1e3', '-', '+1', '.inf', '.5'],
  ])('has nothing to say of %j', (text) => {
    expect(yamlSurprise(text, false)).toBeUndefined();
  });
  it('warns of keys whose text changes', () => {
    expect(['y', 'on', '010', '1.10', '0x1F'].map((key) => yamlSurprise(key, true)?.message)).toEqual([
      'the key y is read as "true", as kubectl does, but not by all tools',
      'the key on is read as "true", as kubectl does, but not by all tools',
      'the key 010 is read as "8", as kubectl does, but not by all tools',
      'the key 1.10 is read as "1.1", as kubectl does, but not by all tools',
      'the key 0x1F is read as "31", as kubectl does, but not by all tools',
    ]);
    expect(['true', '8080', '1.5', '', '~'].map((key) => yamlSurprise(key, true))).toEqual(Array(5).fill(undefined));
  });
  it('says both readings of a file mode', () => {
    expect(yamlSurprise('0644', false)).toEqual({
      message: '0644 is the number 420 as for kubectl, but the number 644 for tools that read YAML 1.2',
      hint: 'write 420 if that is meant, or "0644" in quotes',
    });
  });
});
