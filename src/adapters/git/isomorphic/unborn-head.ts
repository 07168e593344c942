import type { GitHttpRequest, GitHttpResponse, HttpClient } from 'isomorphic-git';

/**
 * isomorphic-git fetches nothing from a repository whose default branch does not exist. This client lets such a server say that its
 * default branch is `ref`.
 */
export function withDefaultBranch({ request }: HttpClient, ref: string): HttpClient {
  return {
    request: async (asked: GitHttpRequest): Promise<GitHttpResponse> => {
      const response = await request(asked);
      const isListing = response.statusCode === 200 && asked.url.endsWith('/info/refs?service=git-upload-pack');
      if (!isListing || response.body === undefined) return response;
      return { ...response, body: listingWith(response.body, ref) };
    },
  };
}

/** The service, a flush, and of the first ref its line: length, id, name, zero, capabilities. */
const FIRST_REF = /^([^\0]*?\n0000)[0-9a-f]{4}([0-9a-f]+ [^\0\n]+\0)([^\n]*)\n/;

async function* listingWith(body: NonNullable<GitHttpResponse['body']>, ref: string): AsyncGenerator<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const part of body) parts.push(part);
  const listing = Buffer.concat(parts).toString('latin1');
  const changed = listing.replace(FIRST_REF, (all, before: string, name: string, capabilities: string) => {
    if (/(^| )symref=HEAD:/.test(capabilities) || / HEAD\0$/.test(name)) return all;
    const line = `${name}${capabilities} symref=HEAD:${ref}\n`;
    return `${before}${(line.length + 4).toString(16).padStart(4, '0')}${line}`;
  });
  yield Buffer.from(changed, 'latin1');
}
