import { openApi } from '../app/api/openapi.ts'
import { jsonSchemaOf } from '../config/schema/json-schema.ts'
import { allSinks } from '../sink-types.ts'

interface SchemaOptions {
  included?: boolean
  api?: boolean
}

/** Prints the JSON Schema of a configuration, or of a file that one includes, or the OpenAPI document of the API. */
export async function printSchema({ included = false, api = false }: SchemaOptions): Promise<number> {
  const schema = api ? openApi() : await jsonSchemaOf({ sinkTypes: allSinks, included })
  process.stdout.write(`${JSON.stringify(schema, null, 2)}\n`)
  return 0
}
