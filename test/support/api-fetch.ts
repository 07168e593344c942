import process from 'node:process';
import { findLocalToken, parseEndpoint } from '../../src/cli/api-endpoint.ts';

/** Asks the API as the user of a server without configured people, whose token the server has left for its address. */
export async function apiFetch(url: string, init: RequestInit = {}): Promise<Response> {
  const local = await findLocalToken(parseEndpoint(new URL(url).origin, '/'), process.env);
  const headers = new Headers(init.headers);
  if (local !== undefined && !headers.has('Authorization')) headers.set('Authorization', `Bearer ${local.token}`);
  return fetch(url, { ...init, headers });
}
