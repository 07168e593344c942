/** A violation that a generated validator reports. */
export interface SchemaError {
  /** JSON pointer to the value. */
  readonly instancePath: string;
  readonly schemaPath: string;
  readonly keyword: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly message?: string;
  /** The schema that holds the keyword. */
  readonly parentSchema?: unknown;
}

/** A generated validator: whether the value has the type; if not, `errors` has all violations until the next call. */
export interface SchemaValidator<Type> {
  (value: unknown): value is Type;
  errors?: readonly SchemaError[] | null;
}
