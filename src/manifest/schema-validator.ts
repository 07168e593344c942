/** A violation that a generated validator reports. */
export interface SchemaError {
  /** JSON pointer to the value. */
  readonly instancePath: string;
  readonly schemaPath: string;
  readonly keyword: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly message?: string;
  /** The schema with the keyword; validators are generated with `verbose`. */
  readonly parentSchema?: {
    readonly properties?: object;
    readonly examples?: readonly unknown[];
    readonly oneOf?: readonly { readonly required?: readonly string[] }[];
    readonly anyOf?: readonly { readonly required?: readonly string[] }[];
  };
}

/** A generated validator: whether the value has the type; if not, `errors` has all violations until the next call. */
export interface SchemaValidator<Type> {
  (value: unknown): value is Type;
  errors?: readonly SchemaError[] | null;
}
