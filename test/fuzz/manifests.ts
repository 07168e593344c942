import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { defaultDecodeLimits, MAX_FINDINGS } from '../../src/manifest/limits.ts';
import { compileGlob, readGlob } from '../../src/model/text/glob.ts';
import { matchEnds } from '../../src/model/text/path-pattern.ts';
import { parseIgnoreFile } from '../../src/sources/tree/ignore-file.ts';
import { decodeFile } from '../support/decode-file.ts';
import { follows } from '../support/ignore-rules.ts';
import { mutate, mutations } from './mutations.ts';
import { type FuzzTarget, require, requireReason } from './target.ts';

/** A file, an ignore file with a path, or a glob with a path. Bytes are base64. */
type ManifestInput =
  | { readonly type: 'file'; readonly path: string; readonly bytes: string }
  | { readonly type: 'ignore' | 'glob'; readonly text: string; readonly path: string };

const LIMITS = { ...defaultDecodeLimits, maxBytes: 64 * 1024 };
/** Steps of matching one glob against one path; both have at most some hundred characters. */
const MOST_STEPS = 10_000_000;
/** Longest file to begin with: a change then hits what it is about more often. */
const SEED_BYTES = 4_000;

/** Manifests of examples and of every kind of fleetrelay. */
function corpus(): readonly Uint8Array[] {
  return ['examples', 'test/validation/accepted'].flatMap((folder) => {
    const root = join(import.meta.dirname, '../..', folder);
    return readdirSync(root, { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.ya?ml$/.test(file))
      .sort()
      .map((file) => new Uint8Array(readFileSync(join(root, file))))
      .filter((bytes) => bytes.length <= SEED_BYTES);
  });
}

const TOKENS = ['&a ', '*a', '<<: ', '? ', '- ', '{', '[', '"', "'", '|\n', '>-\n', '---\n', '...\n', '\t', '!!binary ']
  .concat(['!!set ', '%YAML 1.2\n', '\u0000', '\u2028', '\ufeff', ': ', '# ', '~', '.inf', '0x1f', '__proto__: ', '\r'])
  .map((token) => new TextEncoder().encode(token));

const line = fc.oneof(
  fc.constantFrom(...TOKENS),
  fc.uint8Array({ maxLength: 12 }),
  fc.json().map((json) => new TextEncoder().encode(json)),
);

function toParts(bytes: Uint8Array): readonly { readonly bytes: Uint8Array }[] {
  const parts: { bytes: Uint8Array }[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf(10, at);
    const next = end < 0 ? bytes.length : end + 1;
    parts.push({ bytes: bytes.slice(at, next) });
    at = next;
  }
  return parts;
}

const begun = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...corpus()) },
  { weight: 1, arbitrary: fc.array(line, { maxLength: 30 }).map((lines) => new Uint8Array(Buffer.concat(lines))) },
);

const file = fc
  .record({
    path: fc.constantFrom('a.yaml', 'clusters/east/b.yml', 'c.json', 'Chart.yaml', 'kustomization.yaml', '.sops.yaml'),
    bytes: begun,
    changes: mutations(8),
    token: fc.option(fc.tuple(fc.nat({ max: 4_000 }), line)),
  })
  .map(({ path, bytes, changes, token }): ManifestInput => {
    let parts = changes.reduce(mutate, toParts(bytes));
    if (token !== null) parts = parts.toSpliced(token[0] % (parts.length + 1), 0, { bytes: token[1] });
    const changed = Buffer.concat(parts.map((part) => part.bytes));
    return { type: 'file', path, bytes: changed.toString('base64') };
  });

const piece = fc.constantFrom(
  '*',
  '**',
  '/',
  '?',
  '{',
  '}',
  ',',
  '[',
  ']',
  '!',
  '-',
  'a',
  'b',
  '\\',
  '.',
  'é',
  '^',
  '#',
);
const pattern = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(''));
const path = fc
  .array(fc.constantFrom('a', 'b', '/', '.', '-', 'é', 'aaaa', 'clusters/'), { maxLength: 60 })
  .map((pieces) => pieces.join(''));

const inputs: fc.Arbitrary<ManifestInput> = fc.oneof(
  { weight: 6, arbitrary: file },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('glob' as const), text: pattern, path }) },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('ignore' as const),
      text: fc.array(pattern, { maxLength: 12 }).map((lines) => lines.join('\n')),
      path,
    }),
  },
);

function checkFile(name: string, bytes: Uint8Array): void {
  const { reading, diagnostics, size } = decodeFile(name, bytes, 'blob', { limits: LIMITS, fixes: true });
  // The last one says that there are more.
  require(diagnostics.length <= MAX_FINDINGS + 1, `${diagnostics.length} findings`);
  for (const { reason, message, at } of diagnostics) {
    requireReason(reason);
    require(message.length > 0, 'a diagnostic without a message');
    require(at === undefined || at.path === name, 'a diagnostic of another file');
  }
  require(reading.readable || diagnostics.some(({ severity }) => severity === 'error'), 'refused without an error');
  require(size.nodes <= bytes.length * 2 + 16 || size.nodes <= LIMITS.maxBytes, `${size.nodes} nodes`);
}

/** What a repository holds. Every file is read or refused with diagnostics, and no pattern is matched without bound. */
export const manifests: FuzzTarget<ManifestInput> = {
  name: 'manifests',
  inputs,
  async check(input) {
    if (input.type === 'file') return checkFile(input.path, Buffer.from(input.bytes, 'base64'));
    if (input.type === 'ignore') {
      const reading = parseIgnoreFile(input.text);
      if (reading.ok) follows(reading.membership, input.path);
      else require(reading.line >= 1 && reading.problem.length > 0, 'an ignore file is refused without a reason');
      return;
    }
    compileGlob(input.text).matches(input.path);
    const reading = readGlob(input.text);
    let steps = 0;
    if (reading.ok) {
      matchEnds(reading.value, `/${input.path}`, (more) => {
        steps += more;
      });
    }
    require(steps <= MOST_STEPS, `${steps} steps for ${input.text}`);
  },
};
