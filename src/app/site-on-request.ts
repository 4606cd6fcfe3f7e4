import type { Site } from '../observe/server/site.ts'
import type { OpenSite, SiteParts } from './api/site.ts'

/** The page and the API, loaded with the first request for them: a process that nobody asks needs no memory for them. */
export function siteOnRequest() {
  let parts: SiteParts | undefined
  let opened: Promise<OpenSite> | undefined
  return {
    /** The process has started: requests are served from now on. */
    begin(own: SiteParts): void {
      parts = own
    },
    async site(): Promise<Site> {
      const own = parts
      if (!own) return notYet
      opened ??= import('./api/site.ts').then(({ openSite }) => openSite(own))
      return (await opened).serve
    },
    async close(): Promise<void> {
      parts = undefined
      const site = await opened?.catch(() => undefined)
      site?.close()
    },
  }
}

const notYet: Site = async (_request, response) => {
  response.writeHead(503, { 'content-type': 'text/plain; charset=utf-8', 'retry-after': '1' })
  response.end('the process is starting, or stopping\n')
}
