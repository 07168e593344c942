import type { JsonValue } from '../../../src/model/text/json.ts';
import answers from './answers.json' with { type: 'json' };
import {
  addComment,
  findComment,
  type HostApi,
  type HostCall,
  type HostedComment,
  type HostReply,
  hasCommit,
  pageOf,
} from './recorded-host.ts';

const { user, pullRequest, comment, status } = answers.github;
const DOCUMENTATION = 'https://docs.github.com/rest';
const REPOSITORY = '/repos/([^/]+/[^/]+)';
const NOT_FOUND = refusal(404, 'Not Found');
const STATES = ['error', 'failure', 'pending', 'success'];

function refusal(code: number, message: string, errors?: JsonValue): HostReply {
  const body = { message, documentation_url: DOCUMENTATION, status: String(code) };
  return { status: code, body: errors === undefined ? body : { ...body, errors } };
}

function shown({ id, author, body }: HostedComment): JsonValue {
  return { ...comment, id, body, user: { ...comment.user, id: author } };
}

function tooLong(resource: string, field: string, most: number): HostReply {
  const message = `${field} is too long (maximum is ${most} characters)`;
  return refusal(422, 'Validation Failed', [{ resource, code: 'custom', field, message }]);
}

function writeComment({ state, params: [number = ''], body: { body } }: HostCall): HostReply {
  if (!state.pullRequests.has(Number(number))) return NOT_FOUND;
  if (typeof body !== 'string' || body === '') return refusal(422, 'Validation Failed');
  if (body.length > 65_536) return tooLong('IssueComment', 'body', 65_536);
  return { status: 201, body: shown(addComment(state, Number(number), body)) };
}

function changeComment({ state, params: [id = ''], body: { body } }: HostCall): HostReply {
  const found = findComment(state, Number(id));
  if (found === undefined) return NOT_FOUND;
  if (typeof body !== 'string' || body === '') return refusal(422, 'Validation Failed');
  if (body.length > 65_536) return tooLong('IssueComment', 'body', 65_536);
  // A writer of the repository may change the comments of others.
  found.body = body;
  return { status: 200, body: shown(found) };
}

function listComments({ state, params: [number = ''], query, url }: HostCall): HostReply {
  const found = state.pullRequests.get(Number(number));
  if (found === undefined) return NOT_FOUND;
  const { items, next } = pageOf(found.comments, query, 30);
  const link = new URL(url);
  link.searchParams.set('page', String(next));
  const headers = next === undefined ? {} : { link: `<${link.href}>; rel="next", <${link.href}>; rel="last"` };
  return { status: 200, body: items.map(shown), headers };
}

function setStatus({ state, params: [sha = ''], body }: HostCall): HostReply {
  const { state: wanted, context = 'default', description = '' } = body;
  if (!hasCommit(state, sha)) return refusal(422, `No commit found for SHA: ${sha}`);
  if (!STATES.includes(String(wanted))) return refusal(422, 'Validation Failed', [{ field: 'state', code: 'invalid' }]);
  if (String(description).length > 140) return tooLong('Status', 'description', 140);
  const made = { commit: sha, state: String(wanted), context: String(context), description: String(description) };
  state.statuses.push(made);
  return { status: 201, body: { ...status, state: made.state, context: made.context, description: made.description } };
}

function readPullRequest({ state, params: [number = ''] }: HostCall): HostReply {
  const found = state.pullRequests.get(Number(number));
  if (found === undefined) return NOT_FOUND;
  const { head, base } = pullRequest;
  const from = found.from === undefined ? null : { ...head.repo, id: found.from };
  return {
    status: 200,
    body: {
      ...pullRequest,
      number: Number(number),
      state: found.open ? 'open' : 'closed',
      head: { ...head, ref: found.branch, sha: found.commit, repo: from },
      base: { ...base, ref: found.base, repo: { ...base.repo, id: state.repositoryId } },
    },
  };
}

/** The REST API of GitHub, version 2022-11-28, as its documentation has it. */
export const githubApi: HostApi = {
  name: 'github',
  prefix: '',
  admit: ({ headers }, token) => {
    if (headers['user-agent'] === undefined) return refusal(403, 'Request forbidden by administrative rules.');
    if (headers.authorization !== `Bearer ${token}`) return refusal(401, 'Bad credentials');
    const version = headers['x-github-api-version'];
    return version === undefined || version === '2022-11-28' ? undefined : refusal(400, 'not a supported version');
  },
  routes: [
    ['GET', /^\/user$/, ({ state }) => ({ status: 200, body: { ...user, id: state.account } })],
    ['GET', new RegExp(`^${REPOSITORY}/pulls/(\\d+)$`), readPullRequest],
    ['GET', new RegExp(`^${REPOSITORY}/issues/(\\d+)/comments$`), listComments],
    ['POST', new RegExp(`^${REPOSITORY}/issues/(\\d+)/comments$`), writeComment],
    ['PATCH', new RegExp(`^${REPOSITORY}/issues/comments/(\\d+)$`), changeComment],
    ['POST', new RegExp(`^${REPOSITORY}/statuses/([0-9a-f]{40})$`), setStatus],
  ],
  notFound: NOT_FOUND,
};
