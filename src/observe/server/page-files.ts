import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

/** A file of the page, as it is sent. */
export interface PageFile {
  body: Buffer
  /** The same for clients that accept gzip. */
  gzipped: Buffer
  /** Content-Type. */
  type: string
  /** A strong ETag, with its quotes. */
  etag: string
}

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
}

/** In the bundle the page is next to it; sources build it when it is first asked for. */
const BUILT = new URL('./page/', import.meta.url)
const BUILDER = new URL('../../../deploy/build/page.mjs', import.meta.url)

let files: Promise<ReadonlyMap<string, PageFile> | undefined> | undefined

/**
 * Returns the page's files by their path: `/index.html`, and under `/assets/` the script and the style, whose names have a digest;
 * undefined where there is no page: sources without development dependencies. It is read or built once.
 */
export function pageFiles(): Promise<ReadonlyMap<string, PageFile> | undefined> {
  files ??= read().catch((error) => {
    files = undefined
    throw error
  })
  return files
}

async function read(): Promise<ReadonlyMap<string, PageFile> | undefined> {
  const bodies = existsSync(BUILT) ? await builtPage() : await pageOfSources()
  if (!bodies) return undefined
  return new Map(
    await Promise.all([...bodies].map(async ([path, body]) => [path, await fileOf(path, body)] as const)),
  )
}

async function fileOf(path: string, body: Buffer): Promise<PageFile> {
  return {
    body,
    gzipped: await promisify(gzip)(body, { level: 9 }),
    type: TYPES[extname(path)] ?? 'application/octet-stream',
    etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`,
  }
}

async function builtPage(): Promise<Map<string, Buffer>> {
  const names = await readdir(BUILT, { recursive: true })
  const some = names.filter((name) => extname(name) in TYPES)
  return new Map(
    await Promise.all(some.map(async (name) => [`/${name}`, await readFile(new URL(name, BUILT))] as const)),
  )
}

async function pageOfSources(): Promise<Map<string, Buffer> | undefined> {
  // From the bundle that path leads out of the package.
  if (!import.meta.url.endsWith('.ts') || !existsSync(BUILDER)) return undefined
  const { buildPage } = await import(BUILDER.href)
  return (await buildPage(new URL('../../../', import.meta.url).pathname)).files
}
