import { type CelValue, objectType } from '@bufbuild/cel';
import { create, createFileRegistry, type DescMessage, type Registry } from '@bufbuild/protobuf';
import { isReflectMessage, type ReflectMessage, reflect } from '@bufbuild/protobuf/reflect';
import {
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FileDescriptorProtoSchema,
} from '@bufbuild/protobuf/wkt';

/** A type of Kubernetes' libraries for CEL. Its values hold their canonical text, so that equal values have equal texts. */
export interface OpaqueType {
  readonly type: ReturnType<typeof objectType<DescMessage>>;
  make(text: string): ReflectMessage;
  /** The canonical text of a value of this type. */
  textOf(value: CelValue): string;
}

const NAMES = ['Quantity', 'IP', 'CIDR', 'URL', 'Semver', 'NamedFormat'] as const;

/** Makes the types, and the registry that the evaluator needs to know them. The library accepts no other values than messages. */
export function createOpaqueTypes(): {
  readonly registry: Registry;
  readonly types: Readonly<Record<(typeof NAMES)[number], OpaqueType>>;
} {
  const { LABEL_OPTIONAL: label } = { LABEL_OPTIONAL: FieldDescriptorProto_Label.OPTIONAL };
  const field = { name: 'text', jsonName: 'text', number: 1, type: FieldDescriptorProto_Type.STRING, label };
  const file = create(FileDescriptorProtoSchema, {
    name: 'kubernetes.proto',
    package: 'kubernetes',
    syntax: 'proto3',
    messageType: NAMES.map((name) => ({ name, field: [field] })),
  });
  const registry = createFileRegistry(file, () => undefined);
  const types = Object.fromEntries(NAMES.map((name) => [name, opaqueType(registry.getMessage(`kubernetes.${name}`))]));
  return { registry, types: types as Record<(typeof NAMES)[number], OpaqueType> };
}

function opaqueType(desc: DescMessage | undefined): OpaqueType {
  const [field] = desc?.fields ?? [];
  if (desc === undefined || field === undefined) throw new Error('the message is defined above');
  return {
    type: objectType(desc),
    make(text) {
      const message = reflect(desc);
      message.set(field, text);
      return message;
    },
    textOf: (value) => (isReflectMessage(value) ? String(value.get(field)) : ''),
  };
}
