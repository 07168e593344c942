import { expect, test } from 'vitest';
import { creationRank, LAST_RANK } from '../../../../src/model/objects/apply-order.ts';
import { parseOutputKey } from '../../../../src/model/objects/object-key.ts';
import { must } from '../../../../src/model/values/result.ts';

test('Namespaces and definitions come first, autoscalers before what they scale, webhooks late, and statuses last', () => {
  const order = [
    '/Namespace//shop',
    'apiextensions.k8s.io/CustomResourceDefinition//widgets.example.com',
    'autoscaling/HorizontalPodAutoscaler/shop/web',
    'apps/Deployment/shop/web',
    'admissionregistration.k8s.io/ValidatingWebhookConfiguration//all',
    '/Namespace//shop/status',
  ];
  const ranks = order.map((key) => creationRank(must(parseOutputKey(key))));
  expect(ranks).toEqual([0, 1, 2, 3, 4, LAST_RANK]);
});
