import { lookup } from 'node:dns/promises';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { RunIo } from '../../../../compose/options.ts';
import { isLoopback } from '../../../../http/loopback.ts';
import { parseIp } from '../../../../model/text/ip-address.ts';
import { objectOf, textOf } from '../../../../model/text/json.ts';
import { errorText } from '../../../../model/text/messages.ts';
import { apiHost, displayAddress } from '../../../../server/listen-address.ts';
import type { DeclaredDataplaneView } from '../../api/dataplane-view.ts';
import { type Bootstrap, bootstrapOf } from '../../xds/bootstrap/bootstrap.ts';

/** What the Envoy of a declared data plane is started with. */
export interface EnvoyRequest {
  /** As the server has answered. */
  readonly declared: DeclaredDataplaneView;
  /** URL of the server's API. */
  readonly api: string;
  readonly tokenFile?: string | undefined;
  readonly caFile?: string | undefined;
  /** Relative paths of files are relative to it. */
  readonly cwd: string;
  readonly env: RunIo['env'];
}

/** Where distributions of Linux, and macOS, have the authorities that the system trusts: Envoy needs their file. */
const AUTHORITIES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
];

/**
 * The configuration of the Envoy of a declared data plane. Resolves the host name of its address, if it is one; rejects with a
 * text for a person.
 */
export async function dataplaneBootstrap({
  declared,
  api,
  tokenFile,
  caFile,
  cwd,
  env,
}: EnvoyRequest): Promise<Bootstrap> {
  const { mesh, name, spec, xds } = declared;
  if (xds === null) {
    throw new Error('the server serves no Envoys: start it with --xds, or set xds.listen in its RelayConfig');
  }
  const server = { address: isUnspecified(xds.address) ? apiHost(api) : xds.address, port: xds.port };
  const networking = objectOf(spec.networking);
  const address = await ipOf(textOf(networking.address));
  const request = { mesh, name, server, spec: { ...spec, networking: { ...networking, address } } };
  if (xds.tls) {
    if (tokenFile === undefined) throw new Error(`the server asks for the token of ${mesh}/${name}: give --token-file`);
    const ca = caFile === undefined ? systemAuthorities(env) : resolve(cwd, caFile);
    return bootstrapOf({ ...request, trust: { tokenFile: resolve(cwd, tokenFile), caFile: ca } });
  }
  if (!isLoopback(server.address)) {
    const at = displayAddress({ host: server.address, port: server.port });
    throw new Error(`the server serves Envoys without TLS at ${at}: only an Envoy on its own machine may connect`);
  }
  const { warnings, ...rest } = bootstrapOf({ ...request, trust: undefined });
  const given = [tokenFile === undefined ? '' : '--token-file', caFile === undefined ? '' : '--ca-file'];
  const unused = given.filter((flag) => flag !== '').map((flag) => `${flag} is not used: the server has no TLS`);
  return { ...rest, warnings: [...unused, ...warnings] };
}

/** The file of the authorities that the system trusts, which SSL_CERT_FILE may name. */
function systemAuthorities({ SSL_CERT_FILE: named = '' }: RunIo['env']): string {
  const found = named === '' ? AUTHORITIES.find((file) => existsSync(file)) : named;
  if (found !== undefined) return found;
  throw new Error('this system has no file of authorities where one is known to be: give --ca-file');
}

/** Whether a listener at this address listens at all of its machine. */
function isUnspecified(address: string): boolean {
  return parseIp(address)?.value === 0n;
}

/** Envoy listens at IP addresses only. */
async function ipOf(host: string): Promise<string> {
  if (parseIp(host) !== undefined) return host;
  try {
    return (await lookup(host)).address;
  } catch (error) {
    throw new Error(`the address ${host} of the Dataplane cannot be resolved: ${errorText(error)}`, { cause: error });
  }
}
