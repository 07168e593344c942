import { until } from '../fleet-processes.ts';
import type { ApiRequests } from './api-request.ts';

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/**
 * Waits until the objects of every CustomResourceDefinition can be listed. A definition that is deleted before takes minutes to go:
 * the API server looks for its objects, is told that their storage is not there yet, and looks again ever more seldom.
 */
export async function untilListed(api: ApiRequests): Promise<void> {
  const { body } = await api.send('GET', DEFINITIONS);
  for (const { spec } of body.items) {
    for (const { name } of spec.versions.filter(({ served }: { served: boolean }) => served)) {
      const path = `/apis/${spec.group}/${name}/${spec.names.plural}`;
      await until(`${path} is listed`, async () => (await api.send('GET', `${path}?limit=1`)).status === 200);
    }
  }
}
