import { readFile } from 'node:fs/promises';
import type { Agent } from 'node:http';
import type { KubeConfig } from '@kubernetes/client-node';
import type { JsonObject } from '../../../model/text/json.ts';
import { given } from '../../../model/values/given.ts';
import { givenText, type KubeconfigContext } from './kubeconfig.ts';

/** How a connection is made and how its requests are authenticated. */
export interface Identity {
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: TlsIdentity;
  /** An agent that connects through a proxy. */
  readonly proxy?: Agent;
}

/** Options of `tls.connect`; undefined: Node's default. */
export interface TlsIdentity {
  readonly ca: Buffer | undefined;
  readonly cert: Buffer | undefined;
  readonly key: Buffer | undefined;
  readonly servername: string | undefined;
  readonly rejectUnauthorized: boolean;
}

/** Reads files anew at each call. Rejects with the name of a file that cannot be read, never with content. */
export type ReadIdentity = () => Promise<Identity>;

/**
 * The identity of a kubeconfig's user. Tokens, passwords and certificates are read here. Credential plugins, auth providers
 * and proxies are left to the library, which is loaded for them only: it takes 40 MiB of memory and a third of a second.
 */
export function identityOf(context: KubeconfigContext): ReadIdentity {
  const { cluster, user } = context;
  const isSpecial =
    user.exec !== undefined || user['auth-provider'] !== undefined || cluster['proxy-url'] !== undefined;
  return isSpecial ? libraryIdentity(context) : () => plainIdentity(context);
}

async function plainIdentity({ cluster, user }: KubeconfigContext): Promise<Identity> {
  // As with kubectl, a token file precedes a token.
  const tokenFile = givenText(user.tokenFile);
  const token = tokenFile === undefined ? givenText(user.token) : (await readFile(tokenFile, 'utf8')).trim();
  const [name, password, as] = [givenText(user.username), givenText(user.password), givenText(user.as)];
  const basic = name === undefined ? undefined : Buffer.from(`${name}:${password ?? ''}`).toString('base64');
  return {
    headers: {
      ...(basic === undefined ? {} : { authorization: `Basic ${basic}` }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...given({ 'impersonate-user': as }),
    },
    tls: {
      ca: await bytesOf(cluster, 'certificate-authority'),
      cert: await bytesOf(user, 'client-certificate'),
      key: await bytesOf(user, 'client-key'),
      servername: givenText(cluster['tls-server-name']),
      rejectUnauthorized: cluster['insecure-skip-tls-verify'] !== true,
    },
  };
}

/** The content of a file, or the data in the kubeconfig, which kubectl prefers. */
async function bytesOf(holder: JsonObject, field: string): Promise<Buffer | undefined> {
  const data = givenText(holder[`${field}-data`]);
  if (data !== undefined) return Buffer.from(data, 'base64');
  const path = givenText(holder[field]);
  return path === undefined ? undefined : readFile(path);
}

function libraryIdentity(context: KubeconfigContext): ReadIdentity {
  let config: KubeConfig | undefined;
  return async () => {
    config ??= await loadLibrary(context);
    // The library keeps the credentials of a plugin until they expire.
    const options: Parameters<KubeConfig['applyToHTTPSOptions']>[0] & { auth?: string | null; agent?: unknown } = {};
    await config.applyToHTTPSOptions(options);
    const { ca, cert, key, servername, rejectUnauthorized, headers, auth, agent } = options;
    const basic = typeof auth === 'string' ? Buffer.from(auth).toString('base64') : undefined;
    const given = Object.entries(headers ?? {}).filter(([, value]) => value !== undefined);
    return {
      headers: {
        ...(basic === undefined ? {} : { authorization: `Basic ${basic}` }),
        ...Object.fromEntries(given.map(([name, value]) => [name.toLowerCase(), String(value).trim()])),
      },
      tls: {
        ca: asBuffer(ca),
        cert: asBuffer(cert),
        key: asBuffer(key),
        servername,
        rejectUnauthorized: rejectUnauthorized !== false,
      },
      ...(context.cluster['proxy-url'] === undefined ? {} : { proxy: agent as Agent }),
    };
  };
}

async function loadLibrary({ cluster, user, server }: KubeconfigContext): Promise<KubeConfig> {
  const { createKubeConfig } = await import('./kube-config.ts');
  const config = createKubeConfig();
  // The library refuses http:// without this. Such a server is on loopback, which has been checked.
  const plain = server.startsWith('http:') ? { 'insecure-skip-tls-verify': true } : {};
  const { tokenFile, ...others } = user;
  // The library reads a token file only through this provider, and prefers a token.
  const provider = { 'auth-provider': { name: 'tokenFile', config: { tokenFile } }, token: undefined };
  config.loadFromString(
    JSON.stringify({
      clusters: [{ name: 'cluster', cluster: { ...cluster, ...plain } }],
      users: [{ name: 'user', user: { ...others, ...(tokenFile === undefined ? {} : provider) } }],
      contexts: [{ name: 'context', context: { cluster: 'cluster', user: 'user' } }],
      'current-context': 'context',
    }),
  );
  return config;
}

function asBuffer(value: unknown): Buffer | undefined {
  return Buffer.isBuffer(value) ? value : undefined;
}
