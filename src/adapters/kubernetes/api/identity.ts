import { readFile } from 'node:fs/promises';
import type { Agent } from 'node:http';
import type { KubeConfig } from '@kubernetes/client-node';
import { isJsonObject, type JsonObject, objectOf } from '../../../model/json.ts';
import { givenText, type KubeconfigContext } from './kubeconfig.ts';

/** What a connection is made with, and what a request says of who sends it. */
export interface Identity {
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: TlsIdentity;
  /** A way through a proxy, which makes its own connections. */
  readonly proxy?: Agent;
}

/** As `tls.connect` takes it; what is absent is Node's default. */
export interface TlsIdentity {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
  readonly servername?: string;
  readonly rejectUnauthorized?: false;
}

/** Reads files anew at each call. Rejects, with a message that names the file and no content, if one cannot be read. */
export type ReadIdentity = () => Promise<Identity>;

/**
 * Who a context is. Tokens, passwords and certificates are read as they are; programs that give credentials, providers and
 * proxies are the library's, which is loaded for them only: it takes 40 MiB of memory and a third of a second.
 */
export function identityOf(context: KubeconfigContext): ReadIdentity {
  const { cluster, user } = context;
  const provider = isJsonObject(user['auth-provider']) ? user['auth-provider'] : undefined;
  const special = user.exec !== undefined || (provider !== undefined && provider.name !== 'tokenFile');
  if (special || cluster['proxy-url'] !== undefined) return libraryIdentity(context);
  return () => plainIdentity(context, provider);
}

async function plainIdentity(
  { cluster, user }: KubeconfigContext,
  provider: JsonObject | undefined,
): Promise<Identity> {
  const config = objectOf(provider?.config);
  const tokenFile = givenText(config.tokenFile);
  const token = tokenFile === undefined ? givenText(user.token) : (await readFile(tokenFile, 'utf8')).trim();
  const [name, password, as] = [givenText(user.username), givenText(user.password), givenText(user.as)];
  const basic = name === undefined ? undefined : Buffer.from(`${name}:${password ?? ''}`).toString('base64');
  return {
    headers: {
      ...(basic === undefined ? {} : { authorization: `Basic ${basic}` }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(as === undefined ? {} : { 'impersonate-user': as }),
    },
    tls: definedOf({
      ca: await bytesOf(cluster, 'certificate-authority'),
      cert: await bytesOf(user, 'client-certificate'),
      key: await bytesOf(user, 'client-key'),
      servername: givenText(cluster['tls-server-name']),
      rejectUnauthorized: cluster['insecure-skip-tls-verify'] === true ? false : undefined,
    }),
  };
}

/** A file, or what is in the kubeconfig itself; kubectl prefers the latter. */
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
    // It keeps what a program has given until that expires.
    const options: Parameters<KubeConfig['applyToHTTPSOptions']>[0] & { auth?: string | null; agent?: unknown } = {};
    await config.applyToHTTPSOptions(options);
    const { ca, cert, key, servername, rejectUnauthorized, headers, auth, agent } = options;
    const basic = typeof auth === 'string' ? Buffer.from(auth).toString('base64') : undefined;
    return {
      headers: {
        ...(basic === undefined ? {} : { authorization: `Basic ${basic}` }),
        ...Object.fromEntries(
          Object.entries(headers ?? {}).flatMap(([name, value]) =>
            value === undefined ? [] : [[name.toLowerCase(), String(value).trim()]],
          ),
        ),
      },
      tls: definedOf({
        ca: asBuffer(ca),
        cert: asBuffer(cert),
        key: asBuffer(key),
        servername,
        rejectUnauthorized: rejectUnauthorized === false ? false : undefined,
      }),
      ...(context.cluster['proxy-url'] === undefined ? {} : { proxy: agent as Agent }),
    };
  };
}

async function loadLibrary({ cluster, user, server }: KubeconfigContext): Promise<KubeConfig> {
  const { createKubeConfig } = await import('./kube-config.ts');
  const config = createKubeConfig();
  // The library refuses http:// without this; that it is loopback has been checked.
  const plain = server.startsWith('http:') ? { 'insecure-skip-tls-verify': true } : {};
  config.loadFromString(
    JSON.stringify({
      clusters: [{ name: 'cluster', cluster: { ...cluster, ...plain } }],
      users: [{ name: 'user', user }],
      contexts: [{ name: 'context', context: { cluster: 'cluster', user: 'user' } }],
      'current-context': 'context',
    }),
  );
  return config;
}

function asBuffer(value: unknown): Buffer | undefined {
  return Buffer.isBuffer(value) ? value : undefined;
}

function definedOf(members: { readonly [Name in keyof TlsIdentity]: TlsIdentity[Name] | undefined }): TlsIdentity {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}
