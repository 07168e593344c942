import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { dirname, relative, resolve } from 'node:path';
import { isJsonObject, type JsonValue, parseJsonBytes } from '../../../model/text/json.ts';
import type { JsonSchemaFile, LocatedSchema } from '../../../validation/custom/located-kinds.ts';
import { DEFAULT_LOCATION, type KindName, parseLocation } from '../../../validation/custom/schema-template.ts';

/** What a locator of schemas needs. */
export interface SchemaLocatorOptions {
  /** As the person gave them: paths and URLs in the form of kubeconform; `default` stands for the schemas that ship. */
  readonly locations: readonly string[];
  /** Relative paths begin here. */
  readonly cwd: string;
  /** As `1.36.0`. */
  readonly kubernetesVersion: string;
}

/** Finds the JSON Schemas of kinds. */
export interface SchemaLocator {
  /**
   * Looks for the schemas of kinds at the locations in their order; the first one that has a kind counts, and kinds that no
   * location has are left out. A location that cannot be read gives a problem for the kind.
   */
  locate(kinds: readonly KindName[]): Promise<readonly LocatedSchema[]>;
  /**
   * Reads the schema that a file names for its documents (modelines.ts), as a problem if it must not be read or cannot be.
   * Only paths inside `root` are read, and URLs below a location that the person gave.
   */
  read(reference: string, file: NamingFile): Promise<ReadSchema>;
}

/** A file that names a schema. */
export interface NamingFile {
  readonly location: string;
  /** See schema-roots.ts. */
  readonly root: string;
}

/** A schema, or why there is none: a sentence. */
export type ReadSchema = { readonly file: JsonSchemaFile } | { readonly problem: string };

/** The most bytes of one file, the most files of one schema, and the longest wait for one answer. */
const MAX_BYTES = 10 * 1024 * 1024;
const MAX_FILES = 100;
const TIMEOUT_MS = 15_000;
/** How many files are read at a time. */
const AT_ONCE = 8;

/** Bytes; `missing`: there is no such file; else what is wrong with it, as the end of a sentence. */
type Content = { readonly bytes: Uint8Array } | 'missing' | { readonly problem: string };

/** Makes a locator. Throws with a text for people if a location has a variable that does not exist. */
export function createSchemaLocator(options: SchemaLocatorOptions): SchemaLocator {
  const { locations, cwd, kubernetesVersion } = options;
  const templates = locations.filter((location) => location !== DEFAULT_LOCATION);
  const parsed = templates.map((location) => {
    const template = parseLocation(location, kubernetesVersion);
    if (!template.ok) throw new Error(template.problem);
    return { prefix: prefixOf(location, cwd), pathFor: template.value };
  });
  const contents = new Map<string, Promise<Content>>();
  const contentOf = (place: string): Promise<Content> => {
    const known = contents.get(place) ?? (isUrl(place) ? fetched(place) : fileContent(place));
    contents.set(place, known);
    return known;
  };
  const locateOne = async (kind: KindName): Promise<LocatedSchema | undefined> => {
    for (const { pathFor, prefix } of parsed) {
      const path = pathFor(kind);
      if (path === undefined) continue;
      const place = isUrl(path) ? path : resolve(cwd, path);
      const found = await schemaAt(
        place,
        (other) => isBelow(other, prefix),
        contentOf,
        (other) => other,
      );
      if (found !== 'missing') return { ...kind, ...found };
    }
    return undefined;
  };
  return {
    locate: async (kinds) => {
      const found: (LocatedSchema | undefined)[] = [];
      for (let at = 0; at < kinds.length; at += AT_ONCE) {
        found.push(...(await Promise.all(kinds.slice(at, at + AT_ONCE).map(locateOne))));
      }
      return found.filter((each) => each !== undefined);
    },
    read: async (reference, { location, root }) => {
      const place = isUrl(reference) ? reference : await linkless(resolve(dirname(location), decodedPath(reference)));
      const prefixes = isUrl(place) ? parsed.map(({ prefix }) => prefix) : [`${await linkless(root)}/`];
      // A link in the folder must not lead a reference out of it.
      const mayRead = async (other: string): Promise<boolean> => {
        const target = isUrl(other) ? other : await linkless(other);
        return prefixes.some((prefix) => isBelow(target, prefix));
      };
      if (!(await mayRead(place))) {
        const why = isUrl(place) ? 'no --schema-location covers it' : 'it is outside of the repository';
        return { problem: `the schema ${reference} is not read: ${why}` };
      }
      const titleOf = (other: string) => (other === place ? reference : isUrl(other) ? other : relative(cwd, other));
      const found = await schemaAt(place, mayRead, contentOf, titleOf);
      return found === 'missing' ? { problem: `the schema ${reference} is not read: there is no such file` } : found;
    },
  };
}

function isUrl(place: string): boolean {
  return /^https?:\/\//i.test(place);
}

/** The folder that a location begins with, as an absolute path; undefined for a URL and for `default`. */
export function folderOf(location: string, cwd: string): string | undefined {
  return location === DEFAULT_LOCATION || isUrl(location) ? undefined : prefixOf(location, cwd);
}

/** The part of a location before its first variable, up to the last slash. */
function prefixOf(location: string, cwd: string): string {
  const [fixed = ''] = location.split('{{');
  const folder = fixed === location && !location.endsWith('json') ? `${location.replace(/\/+$/, '')}/` : fixed;
  const end = folder.lastIndexOf('/') + 1;
  return isUrl(location) ? folder.slice(0, end) : `${resolve(cwd, folder.slice(0, end) || '.')}/`.replace(/\/+$/, '/');
}

/** Whether a path or URL is below a prefix, dots and escapes resolved. */
function isBelow(place: string, prefix: string): boolean {
  if (isUrl(place) !== isUrl(prefix)) return false;
  if (!isUrl(place)) return resolve(place).startsWith(prefix);
  return URL.canParse(place) && URL.canParse(prefix) && new URL(place).href.startsWith(new URL(prefix).href);
}

/** The path without links, which could lead out of a folder; as it is if there is no such file. */
function linkless(path: string): Promise<string> {
  return realpath(path).catch(() => path);
}

function decodedPath(reference: string): string {
  const path = reference.replace(/^file:\/\//i, '').replace(/[#?].*$/, '');
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/**
 * Reads a schema and the files that its references name. References that must not be read make the schema a problem.
 *
 * @param titleOf a path or URL in the form of messages
 */
async function schemaAt(
  place: string,
  mayRead: (place: string) => boolean | Promise<boolean>,
  contentOf: (place: string) => Promise<Content>,
  titleOf: (place: string) => string,
): Promise<ReadSchema | 'missing'> {
  const documents: Record<string, JsonValue> = {};
  const waiting = [place];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (Object.hasOwn(documents, next)) continue;
    if (Object.keys(documents).length >= MAX_FILES)
      return { problem: `the schema ${titleOf(place)} has more than ${MAX_FILES} files` };
    if (!(await mayRead(next)))
      return { problem: `the schema ${titleOf(place)} cannot be used: its reference to ${titleOf(next)} is not read` };
    const content = await contentOf(next);
    if (content === 'missing') {
      if (next === place) return 'missing';
      return {
        problem: `the schema ${titleOf(place)} cannot be used: ${titleOf(next)}, which it refers to, does not exist`,
      };
    }
    if ('problem' in content) return { problem: `the schema ${titleOf(next)} ${content.problem}` };
    const document = parseJsonBytes(content.bytes);
    if (document === undefined) return { problem: `the schema ${titleOf(next)} cannot be used: it is not JSON` };
    documents[next] = document;
    const references = referencesIn(document);
    if (references === undefined)
      return { problem: `the schema ${titleOf(next)} cannot be used: it is nested too deep` };
    for (const reference of references) waiting.push(besides(next, reference));
  }
  return { file: { location: place, documents } };
}

/** More levels than a schema needs; the compiler of schemas calls itself for each. */
const DEEPEST = 500;

/** The files that the references of a schema name, without those inside of it. Undefined: the schema is nested too deep. */
function referencesIn(schema: JsonValue): readonly string[] | undefined {
  const references = new Set<string>();
  let level: readonly JsonValue[] = [schema];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > DEEPEST) return undefined;
    const next: JsonValue[] = [];
    for (const value of level) {
      if (typeof value !== 'object' || value === null) continue;
      for (const member of Object.values(value)) if (typeof member === 'object' && member !== null) next.push(member);
      const reference = isJsonObject(value) && typeof value.$ref === 'string' ? value.$ref.replace(/#.*$/s, '') : '';
      if (reference !== '') references.add(reference);
    }
    level = next;
  }
  return [...references];
}

function besides(place: string, reference: string): string {
  if (isUrl(place)) return URL.canParse(reference, place) ? new URL(reference, place).href : reference;
  return isUrl(reference) ? reference : resolve(dirname(place), decodedPath(reference));
}

const { O_RDONLY, O_NONBLOCK = 0 } = constants;

async function fileContent(path: string): Promise<Content> {
  try {
    // Without O_NONBLOCK it would wait until a program writes into a pipe.
    await using file = await open(path, O_RDONLY | O_NONBLOCK);
    if (!(await file.stat()).isFile()) return { problem: 'cannot be read: it is no plain file' };
    // The files of /proc have any number of bytes and the size 0.
    const bytes = await limitedBytes(file.createReadStream({ end: MAX_BYTES, autoClose: false }));
    return bytes === undefined ? TOO_LARGE : { bytes };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    if (code === 'ENOENT' || code === 'ENOTDIR') return 'missing';
    return { problem: `cannot be read: ${code}` };
  }
}

const TOO_LARGE: Content = { problem: `cannot be used: it has more than ${MAX_BYTES} bytes` };

/** Fetches a URL. Redirects are not followed, so nothing else is fetched than was named. */
async function fetched(url: string): Promise<Content> {
  try {
    const response = await fetch(url, {
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: { 'user-agent': 'fleetrelay' },
    });
    const { status } = response;
    const to = response.headers.get('location');
    if (status === 200 && response.body !== null) {
      const bytes = await limitedBytes(response.body);
      return bytes === undefined ? TOO_LARGE : { bytes };
    }
    await response.body?.cancel();
    if (status === 404 || status === 410) return 'missing';
    const why = to === null ? `the server answers ${status}` : `it has moved to ${to}, which is not followed`;
    return { problem: `cannot be read: ${why}` };
  } catch (error) {
    return { problem: `cannot be read: ${reasonOf(error)}` };
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'an unknown reason';
  if (error.name === 'TimeoutError') return `no answer within ${TIMEOUT_MS / 1000} s`;
  return error.cause instanceof Error ? error.cause.message : error.message;
}

/** Undefined if there are more than the limit. */
async function limitedBytes(body: AsyncIterable<Uint8Array>): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > MAX_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
