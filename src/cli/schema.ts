import { jsonSchemaOf } from '../config/schema/json-schema.ts'
import { allSinks } from '../sink-types.ts'

/** Prints the JSON Schema of a configuration, or of a file that one includes. */
export async function printSchema({ included = false }: { included?: boolean }): Promise<number> {
  const schema = await jsonSchemaOf({ sinkTypes: allSinks, included })
  process.stdout.write(`${JSON.stringify(schema, null, 2)}\n`)
  return 0
}
