import { expect, test } from 'vitest';
import { certificateReportOf } from '../../../../src/adapters/tls/certificate-report.ts';
import { createTestAuthority, DAY_MS } from '../../../support/test-authority.ts';

const ENDS = Date.UTC(2030, 0, 1);
const notAfter = '2030-01-01T00:00:00Z';
const nothing = { 'kube-root-ca.crt': undefined, 'extension-apiserver-authentication': undefined };
const root = async () => (await createTestAuthority(ENDS - 400 * DAY_MS, ENDS)).root;

test('each certificate of each field is listed; fields that hold no authorities are not looked at', async () => {
  const pem = await root();
  const data = {
    'client-ca-file': `comment\n${pem}\n${pem}`,
    'requestheader-client-ca-file': pem.replaceAll('\n', '\r\n'),
    'requestheader-allowed-names': '["front"]',
  };
  const name = 'extension-apiserver-authentication';
  expect(certificateReportOf({ ...nothing, [name]: { data } })).toEqual({
    certificates: ['client-ca-file', 'client-ca-file', 'requestheader-client-ca-file'].map((field) => ({
      name,
      field,
      notAfter,
    })),
  });
});

test('what cannot be read is a problem that names its place', async () => {
  const pem = await root();
  const data = { 'ca.crt': '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----' };
  const found = certificateReportOf({
    'kube-root-ca.crt': { data },
    'extension-apiserver-authentication': { problem: 'forbidden' },
  });
  expect(found).toEqual({
    certificates: [],
    problems: [
      expect.stringMatching(/^certificate 1 in ca\.crt of ConfigMap kube-system\/kube-root-ca\.crt cannot be read: ./),
      'ConfigMap kube-system/extension-apiserver-authentication: forbidden',
    ],
  });
  for (const text of ['', 'no certificate', pem.slice(0, 100), 7]) {
    expect(certificateReportOf({ ...nothing, 'kube-root-ca.crt': { data: { 'ca.crt': text } } })).toEqual({
      certificates: [],
      problems: ['ca.crt of ConfigMap kube-system/kube-root-ca.crt has no certificate'],
    });
  }
});

test('certificates and problems are bounded, and what was left out is said', async () => {
  const pem = await root();
  const many = certificateReportOf({ ...nothing, 'kube-root-ca.crt': { data: { 'ca.crt': `${pem}\n`.repeat(130) } } });
  expect(many.certificates).toHaveLength(100);
  expect(many.problems).toEqual(['30 more certificates are left out']);
  const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'.repeat(1_000);
  const { problems } = certificateReportOf({ ...nothing, 'kube-root-ca.crt': { data: { 'ca.crt': broken } } });
  expect(problems).toHaveLength(21);
  expect((problems as readonly string[]).at(-1)).toBe('and 980 more');
});
