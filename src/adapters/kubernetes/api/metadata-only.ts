/**
 * Media types of answers with nothing of an object but its metadata. There is no other type to fall back to: a server that
 * cannot answer so sends no object at all.
 */
export const METADATA_OF_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
export const METADATA_OF_EVENTS = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
