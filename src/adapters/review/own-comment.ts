import { isJsonObject, type JsonObject, type JsonValue, objectOf, textOf } from '../../model/text/json.ts';
import type { ReviewComment, ReviewFailure, ReviewOutcome } from '../../ports/review-host.ts';
import { cutBody } from './cut-body.ts';
import { failed, notUnderstood, type Send } from './host-requests.ts';

/** How a host keeps comments. */
export interface CommentApi {
  readonly send: Send;
  /** Most characters of a comment. */
  readonly most: number;
  /** Path of the comments of a pull request. */
  readonly listPath: (pullRequest: number) => string;
  /** Query of a page of them, oldest first. */
  readonly query: (page: number) => string;
  /** The number of the page after this one; undefined: it is the last one. */
  readonly nextPage: (
    headers: Readonly<Record<string, string | string[] | undefined>>,
    page: number,
  ) => number | undefined;
  /** The field of a comment with its author. */
  readonly author: 'user' | 'author';
  readonly update: { readonly method: 'PATCH' | 'PUT'; readonly path: (pullRequest: number, id: number) => string };
  /** Changes a text that the host would take for more than text. */
  readonly defuse?: (text: string) => string;
}

/** The own comment is old: it is found on one of the first pages. */
const MAX_PAGES = 30;

/** Creates the comment of this account that begins with the marker, or replaces its text. */
export async function putComment(
  api: CommentApi,
  { pullRequest, marker, body }: ReviewComment,
  signal: AbortSignal,
): Promise<ReviewOutcome> {
  const account = await ownAccount(api.send, signal);
  if (typeof account !== 'number') return account;
  const found = await findComment(api, pullRequest, marker, account, signal);
  if (found?.type === 'failed') return found;
  const { defuse = (text) => text, update } = api;
  const text = `${marker}\n${cutBody(defuse(body), api.most - marker.length - 1)}`;
  if (found?.body === text) return { type: 'done', value: undefined };
  const request =
    found === undefined
      ? ({ method: 'POST', path: api.listPath(pullRequest) } as const)
      : { method: update.method, path: update.path(pullRequest, found.id) };
  const answer = await api.send({ ...request, body: { body: text } }, signal);
  return answer.type === 'failed' ? answer : { type: 'done', value: undefined };
}

/** The number of the account that has the token. */
async function ownAccount(send: Send, signal: AbortSignal): Promise<number | ReviewFailure> {
  const answer = await send({ method: 'GET', path: '/user' }, signal);
  if (answer.type === 'failed') return answer;
  return idOf(objectOf(answer.body).id) ?? notUnderstood('account');
}

type Found = { readonly type: 'found'; readonly id: number; readonly body: string };

async function findComment(
  { send, listPath, query, nextPage, author }: CommentApi,
  pullRequest: number,
  marker: string,
  account: number,
  signal: AbortSignal,
): Promise<Found | ReviewFailure | undefined> {
  let page: number | undefined = 1;
  for (let read = 0; page !== undefined; read += 1) {
    if (read === MAX_PAGES) {
      return failed(
        'Refused',
        `the pull request has more than ${MAX_PAGES} pages of comments, and none of them is ours`,
      );
    }
    const answer = await send({ method: 'GET', path: `${listPath(pullRequest)}${query(page)}` }, signal);
    if (answer.type === 'failed') return answer;
    if (!Array.isArray(answer.body)) return notUnderstood('list of comments');
    const own = answer.body.find((item: JsonValue) => isOwn(item, author, marker, account)) as JsonObject | undefined;
    const id = idOf(own?.id);
    if (id !== undefined) return { type: 'found', id, body: textOf(own?.body) };
    const next = nextPage(answer.headers, page);
    page = next !== undefined && next > page ? next : undefined;
  }
  return undefined;
}

function isOwn(item: JsonValue, author: CommentApi['author'], marker: string, account: number): boolean {
  if (!isJsonObject(item) || item.system === true) return false;
  return objectOf(item[author]).id === account && textOf(item.body).split(/\r?\n/, 1)[0] === marker;
}

/** A number of an object at a host. */
export function idOf(value: JsonValue | undefined): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}
