import { describe, expect, it } from 'vitest';
import { type Diagnostic, diagnosticOf } from '../../../src/model/fleet/diagnostic.ts';
import { suppress } from '../../../src/validation/suppressions.ts';
import { decodeFile } from '../../support/decode-file.ts';
import { bytesOf } from '../../support/decoding.ts';

/** A finding at the first place of a word in the text. */
function findingAt(text: string, word: string, reason: Diagnostic['reason'] = 'UnknownField'): Diagnostic {
  const before = text.slice(0, text.indexOf(word));
  const at = { path: 'a.yaml', line: before.split('\n').length, column: before.length - before.lastIndexOf('\n') };
  return diagnosticOf({ severity: 'error', reason, message: `at ${word}`, at });
}

/** What is left of findings at the words, and what is found about the comments: `CODE LINE:COLUMN`. */
function left(text: string, ...words: readonly string[]): readonly string[] {
  const found = words.map((word) => findingAt(text, word));
  return suppress('a.yaml', text, found).map(({ code, at }) => `${code} ${at?.line}:${at?.column}`);
}

describe('suppress', () => {
  it('returns the same diagnostics for a text without suppressions', () => {
    const found = [findingAt('a: 1\n', 'a')];
    expect(suppress('a.yaml', 'a: 1\n', found)).toBe(found);
  });

  it('suppresses the findings of its own line, and of the next line with content', () => {
    const text = `kind: A
one: 1 # fleetrelay-ignore: FR2003 an old controller needs it
# fleetrelay-ignore: FR2003 an old controller needs it

# another comment
two: 2
three: 3
`;
    expect(left(text, 'one', 'two')).toEqual([]);
    expect(left(text, 'one', 'two', 'three')).toEqual(['FR2003 7:1']);
    expect(left(text.replaceAll('\n', '\r\n'), 'one', 'two', 'three')).toEqual(['FR2003 7:1']);
  });

  it('suppresses the findings of a complete document from before its first line', () => {
    const comment = '# fleetrelay-ignore: FR2003 generated\n';
    const text = `${comment}%YAML 1.2\n---\nkind: A\none: 1\n--- # fleetrelay-ignore: FR2003 generated\nkind: B\ntwo: 2\n---\nthree: 3\n`;
    expect(left(text, 'one', 'two', 'three')).toEqual(['FR2003 10:1']);
    expect(left(`kind: A\none: 1\n${comment}---\ntwo: 2\n`, 'one', 'two')).toEqual(['FR2003 2:1']);
  });

  it('suppresses only the codes that it names, and all of them', () => {
    const text = 'a: 1\nb: 2 # fleetrelay-ignore: FR2003, FR2004,FR2005 as it was\n';
    const found = (['UnknownField', 'WrongType', 'WrongValue', 'BadName'] as const).map((reason) =>
      findingAt(text, 'b', reason),
    );
    expect(suppress('a.yaml', text, found)).toEqual([findingAt(text, 'b', 'BadName')]);
  });

  it('reports a comment without reason or code, with an unknown code, and one that suppresses nothing', () => {
    const text = `a: 1
b: 1 # fleetrelay-ignore: FR2003
c: 1 # fleetrelay-ignore:
d: 1 # fleetrelay-ignore: FR2O03 a letter
e: 1 # fleetrelay-ignore: unknownfield a name
f: 1 # fleetrelay-ignore: FR2003 nothing is here
# fleetrelay-ignore: FR2003 nothing follows
`;
    const found = suppress('a.yaml', text, [findingAt(text, 'b')]);
    expect(found.map(({ at, reason, message, hint }) => [`${at?.line}:${at?.column}`, reason, message, hint])).toEqual([
      ['2:6', 'SuppressionWithoutReason', expect.any(String), 'write `# fleetrelay-ignore: FR2003 REASON`'],
      ['3:6', 'BadSuppression', 'the comment names no code', 'write `# fleetrelay-ignore: FR2003 REASON`'],
      ['4:27', 'BadSuppression', '"FR2O03" is no code of a finding', 'did you mean FR2003?'],
      ['5:27', 'BadSuppression', '"unknownfield" is no code of a finding', 'write FR2003'],
      ['6:27', 'UnusedSuppression', 'there is no finding FR2003 here to suppress', 'remove it'],
      ['7:22', 'UnusedSuppression', 'there is no finding FR2003 here to suppress', 'remove it'],
    ]);
  });

  it('does not call a suppression unused whose code was not looked for', () => {
    const text = 'a: 1 # fleetrelay-ignore: FR3003 another repository declares it\n';
    expect(suppress('a.yaml', text, [], { isChecked: (code) => code !== 'FR3003' })).toEqual([]);
    expect(suppress('a.yaml', text, []).map(({ code }) => code)).toEqual(['FR1052']);
  });

  it('does not suppress what makes a file unreadable', () => {
    const text = 'kind: A\na: 1\na: 2 # fleetrelay-ignore: FR1014 both are needed\n';
    const { diagnostics } = decodeFile('a.yaml', bytesOf(text), '');
    const duplicate = diagnostics.filter(({ reason }) => reason === 'DuplicateKey');
    expect(suppress('a.yaml', text, duplicate).map(({ reason }) => reason)).toEqual(['DuplicateKey', 'BadSuppression']);
    const broken = `[\n${text}`;
    const syntax = decodeFile('a.yaml', bytesOf(broken), '').diagnostics;
    expect(suppress('a.yaml', broken, syntax)).toBe(syntax);
  });

  it('takes no text in a string for a comment', () => {
    const text = `key1: |
  # fleetrelay-ignore: FR2003 in a block
key2: "x # fleetrelay-ignore: FR2003 in quotes"
key3: 'x
  # fleetrelay-ignore: FR2003 in quotes'
key4: x#fleetrelay-ignore FR2003 in a word
key5: 1 # see fleetrelay-ignore: FR2003
# fleetrelay-ignored: FR2003
key6: | # fleetrelay-ignore: FR2003 after the mark of a block
  text
`;
    expect(left(text, 'key1', 'key2', 'key3', 'key4', 'key5', 'key6')).toEqual(
      ['1:1', '3:1', '4:1', '6:1', '7:1'].map((at) => `FR2003 ${at}`),
    );
  });

  it('reads CRLF and a byte order mark', () => {
    const text =
      '\ufeffa: 1\r\nb: 2 # fleetrelay-ignore: FR2003 a reason\r\nc: 3\r\n# fleetrelay-ignore: FR2003\r\nd: 4\r\n';
    const found = [2, 5].map((line) => ({ ...findingAt(text, 'b'), at: { path: 'a.yaml', line, column: 1 } }));
    expect(suppress('a.yaml', text, found).map(({ code, at }) => [code, at?.line])).toEqual([['FR1050', 4]]);
  });

  it('takes a time that grows with the text and the findings, and not with their product', () => {
    const lines = Array.from({ length: 50_000 }, (_, index) => `k${index}: 1 # fleetrelay-ignore: FR2003 all\n`);
    const text = lines.join('');
    const found = lines.map((_, index) =>
      diagnosticOf({ severity: 'error', reason: 'UnknownField', message: '', at: { path: 'a.yaml', line: index + 1 } }),
    );
    expect(suppress('a.yaml', text, found)).toEqual([]);
    const above = '# fleetrelay-ignore: FR2003 all\n'.repeat(50_000);
    const many = found.map((each) => ({ ...each, at: { path: 'a.yaml', line: 50_001 } }));
    expect(suppress('a.yaml', `a: 1\n${above}`, many)).toHaveLength(100_000);
    expect(suppress('a.yaml', `${above}a: 1\n`, many)).toEqual([]);
  });
});
