import { describe, expect, it } from 'vitest';
import { displayDiagnostic } from '../../../src/model/fleet/diagnostic.ts';
import { decodeFile } from '../../support/decode-file.ts';
import { complaints, contentOf, documentsOf } from '../../support/decoding.ts';

const NAMESPACE = 'apiVersion: v1\nkind: Namespace\nmetadata:\n  name: a\n';
const found = (bytes: Uint8Array) => decodeFile('a.yaml', bytes, '').diagnostics.map(displayDiagnostic);
const configMap = (data: string) => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n${data}`;

describe('encodings', () => {
  it('reads a byte order mark and CRLF, with the lines and columns of the text', () => {
    const text = `\ufeff${NAMESPACE}---\n${NAMESPACE.replace('name: a', 'name: ""')}`.replaceAll('\n', '\r\n');
    expect(complaints(text)).toEqual(['a.yaml:9:9: error: the name is empty']);
    expect(contentOf(`\ufeff${NAMESPACE}`.replaceAll('\n', '\r\n'))).toEqual(contentOf(NAMESPACE));
    expect(contentOf(configMap('  x: |\n    1\n    2\n').replaceAll('\n', '\r\n'))).toMatchObject({
      value: { data: { x: '1\n2\n' } },
    });
  });

  it.each([
    ['UTF-16', Buffer.from(`\ufeff${NAMESPACE}`, 'utf16le')],
    ['UTF-16', Buffer.from(NAMESPACE, 'utf16le')],
    ['UTF-16', Buffer.from(`\ufeff${NAMESPACE}`, 'utf16le').swap16()],
    ['UTF-16', Buffer.from(NAMESPACE, 'utf16le').swap16()],
    ['UTF-32', Buffer.from([0xff, 0xfe, 0, 0, 0x61, 0, 0, 0])],
    ['UTF-32', Buffer.from([0, 0, 0, 0x61])],
  ])('names %s, and what to do', (name, bytes) => {
    expect(found(bytes)).toEqual([
      `a.yaml:1:1: error: the file is ${name} text, and must be UTF-8 (save it as UTF-8, for example with: iconv -f ${name} -t UTF-8)`,
    ]);
  });

  it.each([
    ['a gzip file', [0x1f, 0x8b, 8, 0, 0, 0, 0, 0]],
    ['a picture', [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d]],
    ['numbers of 16 bits', [1, 0, 2, 0, 0xff, 0xff, 9, 9]],
  ])('calls %s binary', (_, bytes) => {
    expect(found(Buffer.from(bytes))).toEqual([
      'a.yaml:1:1: error: the file is binary, and no text (list it in .fleetrelayignore)',
    ]);
  });

  it('refuses Windows-1252 at the first character that is not UTF-8, and a file with NUL', () => {
    expect(found(Buffer.from(`# caf\xe9\n${NAMESPACE}`, 'latin1')).join()).toMatch(
      /^a\.yaml:1:6: error: the file is not UTF-8 text \(save it as UTF-8 \(from Windows-1252: /,
    );
    expect(complaints(`${NAMESPACE}  labels: {a: "b\0"}\n`).join()).toMatch(/^a\.yaml:5:17: error: .* U\+0000/);
    const binary = Uint8Array.from({ length: 4096 }, (_, index) => (index * 73) % 256);
    expect(found(binary)).toHaveLength(1);
  });
});

describe('marks of documents and comments', () => {
  it('takes a mark inside text for text', () => {
    const text = configMap('  x: |\n    ---\n    # --- no comment\n    ...\n  w: "a # b\\n---\\n"\n  z: a#b\n');
    expect(contentOf(text)).toMatchObject({
      value: { data: { x: '---\n# --- no comment\n...\n', w: 'a # b\n---\n', z: 'a#b' } },
    });
  });

  it('reads marks with comments, and ends of documents, and refuses directives', () => {
    const text = `# head\n--- # first\n${NAMESPACE}... # end\n# between\n---\n# only a comment\n--- # third\n${NAMESPACE}...\n`;
    expect(documentsOf(text).map(({ identity }) => identity)).toEqual(['/Namespace//a', '/Namespace//a#2']);
    for (const directive of ['%YAML 1.1', '%YAML 1.2', '%TAG !e! tag:e.com:']) {
      expect(complaints(`# head\n${directive}\n---\n${NAMESPACE}`)).toEqual([
        'a.yaml:2:1: error: kubectl reads no directive (a line that begins with %) (remove the line)',
      ]);
    }
    expect(complaints(`${NAMESPACE}# ---\n# kind: Nothing\n`)).toEqual([]);
  });

  it('reports a file that ends in the middle of a document', () => {
    for (const end of ['metadata: {name: "a', 'metadata: {name: a', 'metadata: [']) {
      expect(complaints(`apiVersion: v1\nkind: Namespace\n${end}`).join()).toMatch(/^a\.yaml:[34]:\d+: error: /);
    }
    expect(complaints('{"apiVersion": "v1", "kind": ', 'a.json')).toEqual([
      'a.json:1:29: error: the JSON ends too early',
    ]);
    expect(complaints(`${NAMESPACE}---\napiVersion: v1\nkind: [`).join()).toMatch(/^a\.yaml:\d+:\d+: error: /);
  });
});

describe('other odd files', () => {
  it('refuses tabs that indent, and reads tabs elsewhere', () => {
    expect(complaints('apiVersion: v1\nkind: Namespace\nmetadata:\n\tname: a\n').join()).toMatch(
      /^a\.yaml:4:\d+: error: .*tab/i,
    );
    expect(complaints(NAMESPACE.replace('name: a', 'name:\ta\t# tab'))).toEqual([]);
  });

  it('reports a key that is there twice at its second place, also with aliases', () => {
    expect(complaints(configMap('  a: x\n  a: z\n'))).toEqual([
      'a.yaml:6:3: error: the key "a" is here twice (remove one of the two)',
    ]);
    expect(complaints(configMap('  on: x\n  y: z\n'))).toContain(
      'a.yaml:6:3: error: the key "y" is here twice: y is read as "true" (remove one of the two)',
    );
    expect(contentOf(configMap('  a: &text one\n  b: *text\n'))).toMatchObject({
      value: { data: { a: 'one', b: 'one' } },
    });
  });

  it('judges the last value of a key that is there twice, as kubectl reads it', () => {
    expect(complaints(configMap('  a: 1\n  a: x\n'))).toEqual([
      'a.yaml:6:3: error: the key "a" is here twice (remove one of the two)',
    ]);
    expect(complaints(configMap('  a: x\n  b: z\n  a: 1\n'))).toEqual([
      'a.yaml:7:3: error: the key "a" is here twice (remove one of the two)',
      'a.yaml:7:6: error: data["a"] must be text, not a number (quote it)',
    ]);
  });

  it('reads merge keys as kubectl does', () => {
    const data = (text: string) => contentOf(configMap(text));
    expect(data('  <<: &m {a: one, b: two}\n  b: three\n')).toMatchObject({
      value: { data: { a: 'one', b: 'three' } },
    });
    expect(data('  <<: [{a: one}, {a: two, c: three}]\n')).toMatchObject({ value: { data: { a: 'one', c: 'three' } } });
    expect(data('  "<<": text\n')).toMatchObject({ value: { data: { '<<': 'text' } } });
    expect(complaints(configMap('  <<: {a: one}\n  a: two\n  a: three\n'))).toEqual([
      'a.yaml:7:3: error: the key "a" is here twice (remove one of the two)',
    ]);
    const text = configMap('  <<: {a: 1}\n');
    expect(complaints(text)).toEqual([expect.stringMatching(/^a\.yaml:5:3: error: data\["a"\] must be text/)]);
  });

  it('refuses 100 MB without reading them', () => {
    expect(found(new Uint8Array(100_000_000))).toEqual([
      'a.yaml: error: the file has 100000000 bytes; at most 16777216 are read',
    ]);
  });

  it('reads lines of megabytes, and points into them', () => {
    const long = 'x'.repeat(3_000_000);
    const text = `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "${long}", "b": 1}}`;
    expect(complaints(text, 'a.json')).toEqual([
      `a.json:1:${text.lastIndexOf('1') + 1}: error: data["b"] must be text, not a number (quote it)`,
    ]);
  });
});
