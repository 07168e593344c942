import { type JsonObject, objectOf, textOf } from '../../../model/json.ts';
import { problem, type Result } from '../../../model/result.ts';
import { LIST_MS, MAX_LIST_OBJECTS, MAX_LIST_PAGES, PAGE_MS } from './limits.ts';
import { positionOf, readReflected } from './reflected-object.ts';
import { followed, lost, type Reflecting, type Trouble, troubleOf } from './reflecting.ts';

/** How a list came out. `trouble`: it is not whole, and nobody may conclude anything from what it did not name. */
export type ListEnd =
  | { readonly type: 'whole'; readonly resourceVersion: string }
  | { readonly type: 'failed'; readonly trouble: Trouble };

/**
 * Lists the objects page by page, as of one moment. A continue token that expires on the way ends the list: going on
 * with the server's inconsistent token would leave no version from which a watch sees all changes.
 */
export async function listPages(reflecting: Reflecting, pageSize: number): Promise<ListEnd> {
  const { clock, listener } = reflecting;
  const began = clock.monotonic();
  const seen: ListSoFar = { pages: 0, objects: 0, continued: undefined, resourceVersion: undefined };
  for (;;) {
    const page = await loadPage(reflecting, pageSize, seen.continued);
    const trouble = page.type === 'failed' ? page.trouble : takePage(reflecting, page.body, seen);
    const late = clock.monotonic() - began > LIST_MS && seen.continued !== undefined;
    const failed = trouble ?? (late ? lost(`the list has not ended within ${LIST_MS / 60_000} minutes`) : undefined);
    if (failed !== undefined) {
      if (seen.pages > 0) listener.listFailed();
      return { type: 'failed', trouble: failed };
    }
    if (seen.continued === undefined && seen.resourceVersion !== undefined) {
      listener.listed(seen.resourceVersion);
      return { type: 'whole', resourceVersion: seen.resourceVersion };
    }
  }
}

/** The newest version that the server knows of the followed objects. */
export async function newestVersion(reflecting: Reflecting): Promise<string | Trouble> {
  const page = await loadPage(reflecting, 1, undefined);
  if (page.type === 'failed') return page.trouble;
  return positionOf(page.body) ?? lost('a list has no resourceVersion');
}

interface ListSoFar {
  pages: number;
  objects: number;
  continued: string | undefined;
  /** Of the first page: what changed since it is seen by a watch from there. */
  resourceVersion: string | undefined;
}

async function loadPage(
  { client, options, signal }: Reflecting,
  limit: number,
  continued: string | undefined,
): Promise<
  { readonly type: 'page'; readonly body: JsonObject } | { readonly type: 'failed'; readonly trouble: Trouble }
> {
  const { path, query } = followed(options);
  const answer = await client.request({
    method: 'GET',
    path,
    query: { ...query, limit: String(limit), ...(continued === undefined ? {} : { continue: continued }) },
    signal,
    timeoutMs: PAGE_MS,
  });
  switch (answer.type) {
    case 'ok':
      return { type: 'page', body: answer.body };
    case 'refused':
      return { type: 'failed', trouble: troubleOf(answer.status, answer.refusal) };
    case 'unreachable':
      return { type: 'failed', trouble: { ...lost(answer.message), ...(answer.tooLarge ? { tooLarge: true } : {}) } };
  }
}

/** Hands out the objects of a page; what is wrong with it, if something is. */
function takePage({ options, listener }: Reflecting, body: JsonObject, seen: ListSoFar): Trouble | undefined {
  const items = itemsOf(body);
  if (!items.ok) return lost(items.problem);
  const resourceVersion = positionOf(body);
  if (resourceVersion === undefined) return lost('a list has no resourceVersion');
  const continued = textOf(objectOf(body.metadata).continue);
  if (continued !== '' && continued === seen.continued) return lost('a list continues where it was');
  if (seen.pages === 0) listener.listing();
  seen.pages += 1;
  seen.objects += items.value.length;
  if (seen.objects > MAX_LIST_OBJECTS) return lost(`a list has more than ${MAX_LIST_OBJECTS} objects`);
  if (seen.pages > MAX_LIST_PAGES) return lost(`a list has more than ${MAX_LIST_PAGES} pages`);
  for (const item of items.value) {
    const read = readReflected(objectOf(item), options);
    if (!read.ok) return lost(read.problem);
    listener.upsert(read.value.object);
  }
  seen.continued = continued === '' ? undefined : continued;
  seen.resourceVersion ??= resourceVersion;
  return undefined;
}

function itemsOf({ kind, items }: JsonObject): Result<readonly JsonObject['items'][]> {
  if (typeof kind !== 'string' || kind === '' || kind === 'Status') return problem('the answer to a list is no list');
  if (Array.isArray(items)) return { ok: true, value: items };
  // An aggregated API writes an empty list like this; without the member it is no list at all.
  return items === null ? { ok: true, value: [] } : problem('a list has no items');
}
