// The decoder of qr 0.7 can read a browser's camera: its declarations name two types of the DOM that Node has not.
type DOMRectReadOnly = object
type ImageBitmapSource = object
