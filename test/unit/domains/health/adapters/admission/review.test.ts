import { describe, expect, it } from 'vitest';
import { reviewPod } from '../../../../../../src/domains/health/adapters/admission/review.ts';
import { webhookConfiguration } from '../../../../../../src/domains/health/adapters/admission/webhook-configuration.ts';
import { rewritePod } from '../../../../../../src/domains/health/probes/rewrite-pod.ts';
import { type JsonObject, objectOf, objectsOf, textOf } from '../../../../../../src/model/text/json.ts';
import { options as optionsWith, podWith } from '../../probes/support.ts';

const options = optionsWith();
const UID = '705ab4f5-6393-11e8-b7cc-42010a800002';
const CREATE: JsonObject = {
  uid: UID,
  operation: 'CREATE',
  namespace: 'web',
  resource: { group: '', version: 'v1', resource: 'pods' },
};
const probed = podWith({ livenessProbe: { httpGet: { path: '/live', port: 8080 } } });
const labelled = (value: string): JsonObject => ({
  ...probed,
  metadata: { ...objectOf(probed.metadata), labels: { 'fleetrelay.dev/probe-proxy': value } },
});

function review(object: JsonObject, request: JsonObject = {}, whole: JsonObject = {}) {
  const body = {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: { ...CREATE, object, ...request },
    ...whole,
  };
  return reviewPod(body, { ...options, excluded: ['kube-system', 'fleetrelay'] });
}

function answered(object: JsonObject, request: JsonObject = {}) {
  const answer = review(object, request);
  if (!answer.ok) throw new Error(answer.problem);
  return { ...answer.value, response: objectOf(answer.value.review.response) };
}

/** Carries out a JSON Patch that only adds members two levels down. */
function patched(pod: JsonObject, { patch }: JsonObject): JsonObject {
  const operations: readonly JsonObject[] = JSON.parse(Buffer.from(textOf(patch), 'base64').toString());
  const parts: Record<string, Record<string, unknown>> = {
    metadata: { ...objectOf(pod.metadata) },
    spec: { ...objectOf(pod.spec) },
  };
  for (const { op, path, value } of operations) {
    expect(op).toBe('add');
    const [, part = '', member = '', ...more] = textOf(path).split('/');
    expect(more).toEqual([]);
    Object.assign(parts[part] ?? {}, { [member]: value });
  }
  return JSON.parse(JSON.stringify({ ...pod, ...parts }));
}

describe('a review of a Pod', () => {
  it('is answered with a patch that leads to the Pod of `inject`', () => {
    const { response, result, review: whole } = answered(probed);
    expect(result).toBe('rewritten');
    expect(whole).toMatchObject({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' });
    expect(response).toMatchObject({ uid: UID, allowed: true, patchType: 'JSONPatch' });
    const injected = rewritePod(probed, options);
    expect(injected.type).toBe('rewritten');
    expect(patched(probed, response)).toEqual(injected.type === 'rewritten' && injected.pod);
  });

  it('changes nothing of a Pod that opted out, or in an excluded namespace', () => {
    const kept = [
      answered(labelled('disabled')),
      answered(labelled('enabled'), { namespace: 'kube-system' }),
      answered(labelled('enabled'), { namespace: 'fleetrelay' }),
    ];
    for (const { response, result } of kept) {
      expect([result, response]).toEqual(['unchanged', { uid: UID, allowed: true }]);
    }
    expect(answered(labelled('enabled')).result).toBe('rewritten');
  });

  it('denies a refused Pod with the message', () => {
    const { response, result } = answered(podWith({ livenessProbe: { tcpSocket: { port: 9001 } } }));
    const message =
      "cannot override Pod's probes. Port for probe cannot be set to 9001. It is reserved for the dataplane that will serve pods without mTLS.";
    expect(result).toBe('refused');
    expect(response).toEqual({ uid: UID, allowed: false, status: { code: 400, reason: 'BadRequest', message } });
  });

  it('warns of a probe with an unknown port', () => {
    const { response } = answered(podWith({ livenessProbe: { httpGet: { port: 'nowhere' } } }));
    expect(response).toMatchObject({ allowed: true });
    expect(response.warnings).toEqual([
      'spec.containers[0].livenessProbe.httpGet.port: the container declares no port "nowhere"; the probe stays as it is',
    ]);
  });

  it('leaves a Windows Pod as it is, with a warning', () => {
    const { response, result } = answered({ ...probed, spec: { ...objectOf(probed.spec), os: { name: 'windows' } } });
    expect(result).toBe('unchanged');
    expect(response.patch).toBeUndefined();
    expect(response.warnings).toEqual([expect.stringMatching(/^spec\.os\.name: .*Windows Pod/)]);
  });

  it('denies a Pod whose annotations would be too large, and admits the largest', () => {
    const sized = (bytes: number) => ({ ...probed, metadata: { annotations: { big: 'x'.repeat(bytes) } } });
    const added = rewritePod(sized(0), options);
    const annotations = added.type === 'rewritten' ? objectOf(objectOf(added.pod.metadata).annotations) : {};
    const bytes = Object.entries(annotations).reduce((sum, [name, value]) => sum + `${name}${String(value)}`.length, 0);
    expect(answered(sized(256 * 1024 - bytes)).result).toBe('rewritten');
    const { message, result } = answered(sized(256 * 1024 - bytes + 1));
    expect(result).toBe('refused');
    expect(message).toMatch(/has 262145 bytes of annotations, and Kubernetes allows 262144/);
  });

  it('denies what is no creation of a Pod', () => {
    const odd: readonly JsonObject[] = [
      { operation: 'UPDATE' },
      { subResource: 'ephemeralcontainers' },
      { resource: { group: 'apps', version: 'v1', resource: 'deployments' } },
      { object: null },
      { object: { metadata: {}, spec: [] } },
    ];
    for (const request of odd) {
      const { response, result } = answered(probed, request);
      expect(result).toBe('failed');
      expect(response).toMatchObject({ uid: UID, allowed: false, status: { code: 400 } });
    }
  });

  it('is no review without its version, kind and uid', () => {
    for (const whole of [{ apiVersion: 'admission.k8s.io/v1beta1' }, { kind: 'Pod' }, { request: null }]) {
      expect(review(probed, {}, whole).ok).toBe(false);
    }
    for (const uid of ['', 7, 'x'.repeat(129)]) expect(review(probed, { uid }).ok).toBe(false);
    expect(reviewPod([], { ...options, excluded: [] }).ok).toBe(false);
    expect(reviewPod(undefined, { ...options, excluded: [] }).ok).toBe(false);
  });
});

describe('the configuration of the webhook', () => {
  const webhooks = objectsOf(webhookConfiguration({ namespace: 'relay' }).webhooks);
  const matches = (selector: JsonObject, labels: Readonly<Record<string, string>>): boolean =>
    objectsOf(selector.matchExpressions).every(({ key, operator, values }) => {
      const has = (values as readonly string[]).includes(labels[textOf(key)] ?? '\u0000');
      return operator === 'In' ? has : !has;
    });
  const reviews = (namespace: string, ofNamespace: string | undefined, ofPod: string | undefined): number => {
    const label = (value: string | undefined) => (value === undefined ? {} : { 'fleetrelay.dev/probe-proxy': value });
    const labels = { 'kubernetes.io/metadata.name': namespace, ...label(ofNamespace) };
    return webhooks.filter(
      ({ namespaceSelector, objectSelector }) =>
        matches(objectOf(namespaceSelector), labels) && matches(objectOf(objectSelector), label(ofPod)),
    ).length;
  };

  it.each([
    ['web', undefined, undefined, 0],
    ['web', 'enabled', undefined, 1],
    ['web', undefined, 'enabled', 1],
    ['web', 'enabled', 'enabled', 1],
    ['web', 'enabled', 'disabled', 0],
    ['web', 'disabled', 'enabled', 1],
    ['web', undefined, 'disabled', 0],
    ['kube-system', 'enabled', 'enabled', 0],
    ['relay', 'enabled', 'enabled', 0],
  ])('in the Namespace %s (%s) a Pod (%s) is reviewed %i times', (namespace, ofNamespace, ofPod, times) => {
    expect(reviews(namespace, ofNamespace, ofPod)).toBe(times);
  });
});
