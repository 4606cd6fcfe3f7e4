// The default theme with the fonts of the reader's system: the site makes no request to other hosts.
import theme from 'vitepress/theme-without-fonts'
import './style.css'

export default theme
