import * as z from 'zod'
import { HistoryRecord, Problem, StreamGap } from './contract.ts'
import { BASE, ROUTES, type Route } from './routes.ts'

type Json = Record<string, unknown>

const TAGS = {
  status: 'Watches, sinks, rules and the ledger.',
  history: 'What became of events.',
  'dead letters': 'Deliveries that were given up.',
  control: 'Silences and incidents.',
}

/** Returns the OpenAPI 3.1 document of the API, made of the schemas that check its requests. */
export function openApi(): Json {
  const schemas: Record<string, unknown> = {}
  const paths: Record<string, Json> = {}
  for (const [operationId, route] of Object.entries(ROUTES) as [string, Route][]) {
    const path = `${BASE}${route.path.replace('*}', '}')}`
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(operationId, route, schemas) }
  }
  schemaOf(Problem, 'output', schemas)
  return {
    openapi: '3.1.0',
    info: {
      title: 'kubeherald',
      version: '1',
      description:
        'What became of events of a Kubernetes cluster, and the state of kubeherald. Times are Unix milliseconds. Errors are problems (RFC 9457).',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    security: [{ token: [] }, {}],
    paths,
    components: {
      schemas: sorted(schemas),
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'A token of `server.tokens`.' },
      },
      responses: {
        Problem: {
          description: 'The request was not served; `detail` has the reason.',
          content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
        },
      },
    },
  }
}

function operation(operationId: string, route: Route, schemas: Record<string, unknown>): Json {
  const problems = ['400', '401', '403', '404', ...(route.body ? ['413', '415'] : []), '503']
  return {
    operationId,
    summary: route.summary,
    tags: [route.tag],
    ...(route.acts && { description: 'Needs the role `act`.' }),
    parameters: [...pathParameters(route), ...queryParameters(route), ...streamParameters(route)],
    ...(route.body && {
      requestBody: { required: true, content: json(schemaOf(route.body, 'input', schemas)) },
    }),
    responses: {
      200: route.answer
        ? { description: route.summary, content: json(schemaOf(route.answer, 'output', schemas)) }
        : stream(schemas),
      ...Object.fromEntries(problems.map((status) => [status, { $ref: '#/components/responses/Problem' }])),
    },
  }
}

function json(schema: unknown): Json {
  return { 'application/json': { schema } }
}

function stream(schemas: Record<string, unknown>): Json {
  schemaOf(HistoryRecord, 'output', schemas)
  schemaOf(StreamGap, 'output', schemas)
  return {
    description:
      'Server-sent events: `record` with a HistoryRecord as data and the position as id; `gap` with a StreamGap where records were left out; a comment every 15 s.',
    content: { 'text/event-stream': { schema: { type: 'string' } } },
  }
}

function pathParameters({ path }: Route): Json[] {
  return [...path.matchAll(/\{(\w+)\*?\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
}

function queryParameters({ query }: Route): Json[] {
  if (!query) return []
  const { properties = {} } = jsonSchema(query, 'input') as { properties?: Record<string, Json> }
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    ...(description !== undefined && { description }),
    schema:
      name === 'limit' || name === 'since' || name === 'until' ? { type: 'integer', ...schema } : schema,
  }))
}

function streamParameters({ answer }: Route): Json[] {
  if (answer) return []
  const description = 'The id of the last event that was received: the stream goes on behind it.'
  return [{ name: 'Last-Event-ID', in: 'header', description, schema: { type: 'string' } }]
}

/** Adds a schema that has an id to the components, and returns a reference to it; else the schema itself. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output', schemas: Record<string, unknown>): unknown {
  const { $defs = {}, ...own } = jsonSchema(schema, io) as { $defs?: Record<string, unknown> }
  for (const [name, it] of Object.entries($defs)) schemas[name] = withoutId(moved(it))
  return withoutId(moved(own))
}

function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, target: 'draft-2020-12' }) as Json
  return rest
}

/** References to `$defs` are those of components. */
function moved(schema: unknown): unknown {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/'))
}

function withoutId(schema: unknown): unknown {
  const { id: _, $id: __, ...rest } = schema as Json
  return rest
}

function sorted(schemas: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(schemas).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
