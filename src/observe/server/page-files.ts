/** A file of the page. */
export interface PageFile {
  body: Buffer
  /** The same for clients that accept gzip. */
  gzipped: Buffer
  type: string
  etag: string
}

/** Returns the files of the page by their paths, `/index.html` and those under `/assets/`; undefined where there is none. */
export async function pageFiles(): Promise<ReadonlyMap<string, PageFile> | undefined> {
  return undefined
}
