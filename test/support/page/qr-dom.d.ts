// The declarations of qr 0.7 name two DOM types for reading a camera, which Node does not have.
type DOMRectReadOnly = object
type ImageBitmapSource = object
