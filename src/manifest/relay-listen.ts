import type { RelayConfig as ConfigDocument, ServerCertificate } from '../../generated/relay-config.js';
import type { FieldPath } from '../model/field-path.ts';
import {
  type CertificateSource,
  CLIENT_CERTIFICATE_SECONDS,
  type ClientCertificates,
  type HttpConfig,
  type PersonConfig,
  type RelayListenConfig,
  type RelayTls,
} from '../model/relay-config.ts';
import { type FieldProblem, fieldError } from './problem.ts';
import { readNeededSecret } from './relay-secrets.ts';

/** What agents connect to. */
export function readRelay(document: ConfigDocument, problems: FieldProblem[]): RelayListenConfig {
  const { listen, secrets = [], sharedToken } = document.relay ?? {};
  const shared = readNeededSecret(
    'token',
    sharedToken && [sharedToken.tokenEnv, sharedToken.tokenFile],
    ['relay', 'sharedToken'],
    problems,
  );
  return {
    listen: { address: listen?.address ?? '0.0.0.0', port: listen?.port ?? 9900 },
    secrets: secrets.flatMap(
      ({ secretEnv, secretFile }, index) =>
        readNeededSecret('secret', [secretEnv, secretFile], ['relay', 'secrets', index], problems) ?? [],
    ),
    ...(shared === undefined ? {} : { sharedToken: shared }),
    tls: readTls(document, problems),
  };
}

function readTls(document: ConfigDocument, problems: FieldProblem[]): RelayTls {
  const at = ['relay', 'tls'];
  const { mode = 'mtls', certificate, names = [], clients, insecureListenAnywhere } = document.relay?.tls ?? {};
  if (mode !== 'insecure' && insecureListenAnywhere === true) {
    const message = `with mode ${mode} nothing is insecure`;
    problems.push(fieldError('WrongChoice', [...at, 'insecureListenAnywhere'], message));
  }
  if (mode !== 'mtls' && clients !== undefined) {
    problems.push(fieldError('WrongChoice', [...at, 'clients'], 'agents show certificates with mode mtls only'));
  }
  if (mode === 'insecure') {
    if (certificate !== undefined) {
      problems.push(fieldError('WrongChoice', [...at, 'certificate'], 'without TLS there is no certificate'));
    }
    return { mode, confirmed: insecureListenAnywhere ?? false };
  }
  const source = readCertificate(certificate, names, [...at, 'certificate'], problems);
  return mode === 'tls'
    ? { mode, certificate: source }
    : { mode, certificate: source, clients: readClients(clients, [...at, 'clients'], problems) };
}

function readCertificate(
  certificate: ServerCertificate | undefined,
  names: readonly string[],
  at: FieldPath,
  problems: FieldProblem[],
): CertificateSource {
  const { certFile, keyFile, caFile } = certificate ?? {};
  if (certFile !== undefined && keyFile !== undefined && caFile !== undefined) {
    return { type: 'files', certFile, keyFile, caFile };
  }
  if (certFile !== undefined || keyFile !== undefined || caFile !== undefined) {
    const message = 'a given certificate needs all of certFile, keyFile and caFile';
    problems.push(fieldError('MissingField', at, message));
  }
  return { type: 'generated', names };
}

function readClients(
  clients: NonNullable<NonNullable<ConfigDocument['relay']>['tls']>['clients'],
  at: FieldPath,
  problems: FieldProblem[],
): ClientCertificates {
  const { caFile, signing, lifetimeSeconds } = clients ?? {};
  if (caFile === undefined) {
    const lifetime = lifetimeSeconds ?? CLIENT_CERTIFICATE_SECONDS;
    return { type: 'issued', ...(signing === undefined ? {} : { signing }), lifetimeSeconds: lifetime };
  }
  if (signing !== undefined || lifetimeSeconds !== undefined) {
    const message = 'with caFile agents bring their certificates: signing and lifetimeSeconds have no meaning';
    problems.push(fieldError('WrongChoice', at, message));
  }
  return { type: 'given', caFile };
}

/** The API for people. */
export function readHttp(document: ConfigDocument, problems: FieldProblem[]): HttpConfig {
  const { listen, people = [], tls } = document.http ?? {};
  const seen = new Set<string>();
  const read = people.flatMap((person, index): readonly PersonConfig[] => {
    const at = ['http', 'people', index];
    const { name, role, tokenEnv, tokenFile } = person;
    if (/\p{C}|^\s|\s$/u.test(name)) {
      problems.push(fieldError('BadName', [...at, 'name'], 'a name has no spaces around it and no control characters'));
    }
    if (seen.has(name)) {
      problems.push(fieldError('DuplicateName', [...at, 'name'], `the person ${name} is here twice`));
    }
    seen.add(name);
    const token = readNeededSecret('token', [tokenEnv, tokenFile], at, problems);
    return token === undefined ? [] : [{ name, role, token }];
  });
  return {
    listen: { address: listen?.address ?? '127.0.0.1', port: listen?.port ?? 9980 },
    people: read,
    ...(tls === undefined ? {} : { tls }),
  };
}
