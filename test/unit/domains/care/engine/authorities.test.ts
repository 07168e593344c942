import { describe, expect, it, test } from 'vitest';
import type { JsonObject } from '../../../../../src/model/text/json.ts';
import { rfc3339 } from '../../../../../src/model/text/time.ts';
import { CONTROL_PLANE, careWorld, SINCE } from '../../../../support/care-world.ts';

const TYPE = 'CACertificateValiditiesAcceptable';
const YEAR = 365 * 24 * 3600;
const REPORT = 'internal.fleetrelay.dev/CertificateReport//authorities';

const found = (made: ReturnType<typeof careWorld>) => made.constraints().find(({ type }) => type === TYPE);

describe('authorities in a control plane', () => {
  const labels = { 'managed-by': 'secrets-manager', 'manager-identity': 'gardenlet', persist: 'true' };
  const secret = (validUntil: string, more: JsonObject = {}): JsonObject => ({
    metadata: { name: 'ca-1', labels: { ...labels, name: 'ca', 'valid-until-time': validUntil, ...more } },
  });
  const key = (name: string, namespace = CONTROL_PLANE) => `/Secret/${namespace}/${name}`;
  const world = () => {
    const made = careWorld('{seedName: seed}');
    made.wrote();
    return made;
  };

  test('are expiring when less than a year is left, and not when it is a year exactly', () => {
    const made = world();
    made.live('seed', key('ca-1'), secret(String(SINCE + YEAR)));
    made.live('seed', key('ca-2'), secret(String(SINCE + 2 * YEAR), { name: 'ca-client' }));
    const deadline = `certificate/seed/${key('ca-1')}`;
    expect(made.engine.deadlines.get('care', deadline)).toEqual({ at: SINCE + 1 });
    made.passed(deadline, SINCE);
    expect(found(made)).toBeUndefined();
    made.passed(deadline, SINCE + 1);
    expect(found(made)).toEqual({
      ...{ type: TYPE, status: 'False', reason: 'ExpiringCACertificates' },
      message:
        'Some CA certificates are expiring in less than 8760h0m0s, you should rotate them: "ca" (expiring at 2027-01-01 00:00:00 +0000 UTC)',
    });
    made.passed(`certificate/seed/${key('ca-2')}`, SINCE + YEAR + 1);
    expect(found(made)?.message).toContain('them: "ca" (expiring at 2027-01-01 00:00:00 +0000 UTC), "ca-client" (exp');
    made.live('seed', key('ca-1'));
    made.live('seed', key('ca-2'));
    expect(found(made)).toBeUndefined();
    expect(made.engine.deadlines.get('care', deadline)).toBeUndefined();
  });

  test('are judged although the API server does not run', () => {
    const made = world();
    made.live('seed', key('ca-1'), secret('0'));
    made.passed(`certificate/seed/${key('ca-1')}`, SINCE);
    expect(made.constraints().map(({ reason }) => reason)).toEqual([
      ...['ConstraintNotChecked', 'ConstraintNotChecked', 'ExpiringCACertificates'],
    ]);
  });

  it.each([
    ['soon', 'parsing "soon": invalid syntax'],
    ['', 'parsing "": invalid syntax'],
    ['9223372036854775808', 'parsing "9223372036854775808": value out of range'],
  ])('a label %s is Unknown', (text, why) => {
    const made = world();
    made.live('seed', key('ca-1'), secret(text));
    expect(found(made)).toMatchObject({
      ...{ status: 'Unknown', reason: 'ConditionCheckError' },
      message: `could not parse valid-until-time label from secret "ca-1": strconv.ParseInt: ${why}`,
    });
  });

  test('other Secrets do not count', () => {
    const made = world();
    made.live('seed', key('a'), secret('soon', { persist: 'false' }));
    made.live('seed', key('b'), { metadata: { name: 'b' } });
    made.live('seed', key('c', 'shoot--web--green'), secret('soon'));
    made.live('blue', key('d'), secret('soon'));
    expect(found(made)).toBeUndefined();
  });

  test('Secrets that cannot be listed are Unknown', () => {
    const made = world();
    made.kind('seed', '/Secret', { unlisted: { [CONTROL_PLANE]: 'forbidden: run cluster register --allow care' } });
    expect(found(made)).toMatchObject({ status: 'Unknown', reason: 'ConditionCheckError' });
    expect(found(made)?.message).toContain('forbidden: run cluster register --allow care');
  });

  test('of very many the first are named', () => {
    const made = world();
    for (let n = 100; n < 160; n += 1) {
      made.engine.inputs.live.set('seed', key(`ca-${n}`), {
        ...{ key: key(`ca-${n}`), value: secret('0', { name: `ca-${n}` }), digest: String(n) },
      } as never);
      made.engine.inputs.elapsed.set('care', `certificate/seed/${key(`ca-${n}`)}`, SINCE);
    }
    made.engine.commit();
    expect(found(made)?.message).toMatch(/"ca-149" \(expiring at 1970-01-01 00:00:00 \+0000 UTC\) and 10 more$/);
  });
});

describe('authorities that an agent reports', () => {
  const report = (certificates: readonly JsonObject[], ...problems: readonly string[]): JsonObject => ({
    status: { certificates, ...(problems.length === 0 ? {} : { problems }) },
  });
  const root = (notAfter: number) => ({
    ...{ name: 'kube-root-ca.crt', field: 'ca.crt', notAfter: rfc3339(notAfter * 1000) },
  });
  const world = () => {
    const made = careWorld();
    made.wrote();
    return made;
  };

  test('are judged by the certificate that expires first', () => {
    const made = world();
    made.live('blue', REPORT, report([root(SINCE + 3 * YEAR), root(SINCE + YEAR)]));
    expect(found(made)).toBeUndefined();
    const deadline = `certificate/blue/${REPORT} kube-root-ca.crt`;
    expect(made.engine.deadlines.get('care', deadline)).toEqual({ at: SINCE + 1 });
    made.passed(deadline, SINCE + 1);
    expect(found(made)?.message).toContain('"kube-root-ca.crt" (expiring at 2027-01-01 00:00:00 +0000 UTC)');
  });

  test('cannot be judged if the agent could not read one, unless another one is expiring', () => {
    const made = world();
    made.live('blue', REPORT, report([root(SINCE)], 'ConfigMap kube-system/kube-root-ca.crt: forbidden'));
    expect(found(made)).toMatchObject({ status: 'Unknown', reason: 'ConditionCheckError' });
    expect(found(made)?.message).toBe('ConfigMap kube-system/kube-root-ca.crt: forbidden');
    made.passed(`certificate/blue/${REPORT} kube-root-ca.crt`, SINCE);
    expect(found(made)?.reason).toBe('ExpiringCACertificates');
  });

  test('a time that is none is Unknown, and so is what exceeds a report', () => {
    const made = world();
    made.live('blue', REPORT, report([{ name: 'a', notAfter: 'soon' }]));
    expect(found(made)?.message).toBe('the end of certificate a is no time');
    made.live('blue', REPORT, report(Array.from({ length: 1_000 }, () => root(SINCE + 3 * YEAR))));
    expect(found(made)?.message).toBe('of 1000 certificates only 100 are judged');
  });

  test('a Kubernetes agent that reports none is Unknown', () => {
    const made = world();
    const agent = made.engine.inputs.agents.get('', 'blue') ?? expect.fail();
    made.engine.inputs.agents.set('', 'blue', { ...agent, kindsAsWritten: false });
    made.engine.commit();
    expect(found(made)?.message).toBe('the agent of cluster blue reports no certificates of its authorities');
    made.live('blue', REPORT, report([]));
    expect(found(made)).toBeUndefined();
  });
});
